import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { fixedPlans } from '../../functions/access/plans.ts';
import { suspensionSeconds, suspensionThreshold } from '../../functions/access/limits.ts';

const number = new Intl.NumberFormat('en-US');

describe('docs/limits.md', () => {
  it.each(Object.entries(fixedPlans))(
    'shows the limits of the %s plan',
    async (plan, { perMinute, perDay }) => {
      const rows = (await readFile('docs/limits.md', 'utf8'))
        .split('\n')
        .map((row) => row.replaceAll(/\s+/g, ' '));
      const name = plan[0]!.toUpperCase() + plan.slice(1);
      expect(rows).toContain(`| ${name} | ${number.format(perMinute)} | ${number.format(perDay)} |`);
    },
  );

  it('shows when a key is suspended, and for how long', async () => {
    const text = (await readFile('docs/limits.md', 'utf8')).replaceAll(/\s+/g, ' ');
    expect(text).toContain(
      `rejected ${suspensionThreshold} times within one minute is suspended for ${suspensionSeconds / 60} minutes`,
    );
  });
});

describe('README.md', () => {
  it.each(['start', 'test'])('has one line to %s that begins with a clean install', async (script) => {
    const readme = await readFile('README.md', 'utf8');
    expect(readme).toContain(`<!-- ${script}-line -->\n\n\`\`\`sh\nnpm ci && npm ${script}\n\`\`\``);
  });

  it('links only to files that exist', async () => {
    const readme = await readFile('README.md', 'utf8');
    const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path]) => path!);
    expect(links.length).toBeGreaterThan(5);
    const missing = await Promise.all(links.map(async (path) => ((await readable(path)) ? [] : [path])));
    expect(missing.flat()).toEqual([]);
  });
});

async function readable(path: string): Promise<boolean> {
  return readFile(path).then(
    () => true,
    () => false,
  );
}
