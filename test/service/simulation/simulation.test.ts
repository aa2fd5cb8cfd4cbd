import { expect, describe, test } from 'vitest';
import { errorCatalogue } from '../../../functions/http/errors.ts';
import { aimCount } from './aims.ts';
import { current, earlier } from './environments.ts';
import { type Exchange } from './gateway.ts';
import { simulate, simulatePart } from './seeded.ts';
import { entryOf, queryOf, unusedOperations } from '../../support/used-operations.ts';
import { isFullRun } from '../../support/rounds.ts';

// Each simulation is some minutes of the service with random clients, faults and operators, and model.ts checks it.

describe('minutes of the service', () => {
  const { SEED: seed, ONLY: only, SECONDS: seconds } = process.env;
  const first = Number(seed ?? (seconds === undefined ? 1 : Date.now()));
  test.each([
    { title: 'one version', versions: [current], byDefault: (isFullRun ? 125 : 1) * aimCount },
    ...(earlier === undefined
      ? []
      : [
          {
            title: 'two versions',
            versions: [current, earlier],
            byDefault: (isFullRun ? 25 : 1) * aimCount,
          },
        ]),
  ])(
    'from seeds, with $title: every answer is what the interface says',
    { timeout: 2 ** 31 - 1 },
    async ({ versions, byDefault }) => {
      const end = seconds === undefined ? Infinity : performance.now() + Number(seconds) * 1000;
      const count = seed !== undefined ? 1 : seconds !== undefined ? Infinity : byDefault;
      const seen = new Set<string>();
      const used = new Set<string>();
      const queries = new Set<string>();
      let requests = 0;
      let each = first;
      for (; each < first + count && performance.now() < end; each += 1) {
        const { exchanges } = await (only === undefined
          ? simulate(each, versions)
          : simulatePart(each, versions, only));
        requests += exchanges.length;
        for (const exchange of exchanges) seen.add(outcomeOf(exchange));
        for (const { sent } of exchanges) {
          used.add(entryOf(sent.method, sent.path));
          for (const [name] of sent.query ?? []) queries.add(queryOf(sent.method, sent.path, name));
        }
      }
      console.log(`${each - first} simulations from seed ${first}, ${requests} requests.`);
      if (!isFullRun || each - first < byDefault || versions.length > 1) return;
      // All seeds of CI together reach everything.
      const outcomes = ['200', '201', 'replayed', 'uncounted', ...Object.keys(errorCatalogue)];
      expect([...seen].toSorted()).toEqual(expect.arrayContaining(outcomes));
      expect(unusedOperations(used)).toEqual([]);
      expect([...queries].toSorted()).toEqual([...current.queries].toSorted());
    },
  );
});

function outcomeOf({ answer, operation }: Exchange): string {
  if (answer.headers === undefined) return `gateway ${answer.status}`;
  if (operation?.log[0]?.includes('"LimiterFailOpen":1') === true) return 'uncounted';
  if (answer.status >= 400) return String((answer.body as { code: unknown }).code);
  return answer.headers['Idempotency-Replayed'] === undefined ? String(answer.status) : 'replayed';
}
