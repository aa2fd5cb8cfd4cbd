import { expect, it } from 'vitest';
import { synthesize } from './synthesis.ts';

/** Wording that operators would have to guess, from the style guide's table. */
const unclear =
  /\b(?:in all|let through uncounted|drawn twice|amiss|befalls?|bears?|goes off|whoever|is no (?!longer)|waking)\b/i;

it.each(['staging', 'prod'])('the alarms, dashboards and descriptions of %s are worded plainly', (stage) => {
  const { Resources } = synthesize().stack(`AnimalStore-${stage}`);
  const texts = Object.values(Resources).flatMap(({ Type, Properties }) =>
    [Properties['AlarmDescription'], Properties['Description'], Properties['DashboardBody']]
      .filter((text) => text !== undefined)
      .map((text) => `${Type}: ${JSON.stringify(text)}`),
  );
  expect(texts.length).toBeGreaterThan(25);
  expect(texts.flatMap((text) => unclear.exec(text)?.[0] ?? [])).toEqual([]);
});
