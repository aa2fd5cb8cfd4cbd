import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { customPlanCeiling, type FixedPlan, fixedPlans } from '../../functions/access/plans.ts';
import { usagePlanSettings } from '../../lib/api/usage-plan-settings.ts';
import { presets } from '../../lib/configuration/stages.ts';
import { anchorOf } from '../../tools/contributors/reference/guide.ts';

const project = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(project, path), 'utf8');
// The changelog also names what was removed.
const documents = globSync(['*.md', 'docs/*.md', 'packages/*/README.md', '.github/*.md'], {
  cwd: project,
  exclude: ['CHANGELOG.md'],
});

const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(read('package.json')));

const number = new Intl.NumberFormat('en-US');

it('the samples in README.md have the limits of the Pro plan', () => {
  const { perMinute, perDay } = fixedPlans.pro;
  expect(read('README.md')).toContain(
    `X-RateLimit-Limit: ${perMinute}\nX-RateLimit-Remaining: ${perMinute - 1}`,
  );
  expect(read('README.md')).toContain(`"minute";q=${perMinute};w=60, "day";q=${perDay};w=86400`);
});

it('docs/limits.md has the requests of a day that pass the usage plan', () => {
  const quotas = Object.keys(fixedPlans).map(
    (plan) => usagePlanSettings(plan as FixedPlan, presets.prod.accountThrottle).quota ?? 0,
  );
  const cells = quotas.map((quota) => number.format(quota)).join(' | ');
  const rows = read('docs/limits.md')
    .replaceAll(/ +/g, ' ')
    .split('\n')
    .filter((line) => line.includes('that pass the usage plan'));
  expect(rows, 'the row in docs/limits.md, Floods').toEqual([
    expect.stringContaining(`that pass the usage plan | ${cells} |`),
  ]);
});

it('docs/limits.md has what a key can cost in a day, by the prices of docs/cost.md', () => {
  const priceOf = (start: string) => {
    const row = read('docs/cost.md')
      .split('\n')
      .find((line) => line.startsWith(`| ${start}`));
    return Number(/([\d.]+) +\|$/.exec(row ?? '')?.[1]);
  };
  // The price of a 429 includes traces at 1,000 a second.
  const rejection = priceOf('404, 405, and 429 of the limiter') - priceOf('X-Ray, 1,000 requests a second');
  const creation = priceOf('`POST /pets` with `Idempotency-Key`');
  const { rateLimit } = usagePlanSettings('enterprise', presets.prod.accountThrottle);
  const plans = Object.entries(fixedPlans).map(([plan, { perDay }]) => {
    const { quota = NaN } = usagePlanSettings(plan as FixedPlan, presets.prod.accountThrottle);
    return { admitted: perDay, all: quota };
  });
  const costs = [...plans, { admitted: customPlanCeiling.perDay, all: rateLimit * 86_400 }].map(
    ({ admitted, all }) => {
      const aSecond = all / 86_400;
      const traces = 86_400 * (Math.min(aSecond, 1) + 0.05 * Math.max(aSecond - 1, 0));
      return (
        (admitted * creation +
          (all - admitted) * rejection +
          traces * priceOf('X-Ray, below one request a second')) /
        1e6
      );
    },
  );
  const [free, pro, business, enterprise] = costs as [number, number, number, number];
  const cells = [free.toFixed(2), pro.toFixed(2), business.toFixed(2), enterprise.toFixed(0)].join(' | ');
  const limits = read('docs/limits.md').replaceAll(/\s+/g, ' ');
  expect(limits).toContain(`| US $ a day, with traces | ${cells} |`);

  const { requestsPerSecond } = presets.prod.accountThrottle;
  const anHour = (rejected: string) => ((requestsPerSecond * 3600 * priceOf(rejected)) / 1e6).toFixed(0);
  expect(limits).toContain(
    `a flood of ${requestsPerSecond.toLocaleString('en')} requests a second, which is the default of an account, costs ` +
      `${anHour('401 to any other key')} US dollars an hour, or ${anHour('401 to a well-formed key')} with well-formed keys`,
  );
});

const namesOf = (pattern: string) => globSync(pattern, { cwd: project }).map((file) => basename(file, '.ts'));

describe('a test file has the name of what it tests:', () => {
  it.each(globSync('test/rules/*/*.test.ts', { cwd: project }))('%s', (file) => {
    const source = file.replace('test/rules/', '').replace('.test.ts', '.ts');
    expect(globSync(`{functions,lib,tools}/**/${source}`, { cwd: project })).toHaveLength(1);
  });

  it.each([
    ['functions/*.ts', '', ['operations', 'tables']],
    ['tools/operators/keys/commands/*.ts', 'key-tool/', []],
    ['tools/operators/pets/commands/*.ts', 'pets-tool/', []],
  ])('each of %s in test/service/%s, but %j', (sources, folder, others) => {
    const tested = namesOf(`test/service/${folder}*.test.ts`);
    expect(namesOf(sources).filter((name) => !tested.includes(`${name}.test`))).toEqual(others);
  });
});

it('test/README.md names only files that exist, but for its example', () => {
  const files = globSync('{test,packages}/**/*.ts', { cwd: project, exclude: ['**/node_modules/**'] });
  const named = [...read('test/README.md').matchAll(/`(?:\.\.\/|test\/)?([\w./-]+\.ts)[` ]/g)].map(
    ([, file]) => file!,
  );
  expect(named).toContain('service/world.ts');
  expect(named.filter((name) => !files.some((file) => file.endsWith(`/${name}`)))).toEqual([
    'service/race.test.ts',
  ]);
});

it('CONTRIBUTING.md names only files that exist', () => {
  const files = globSync('{functions,lib,test,tools,packages,docs,bench,.ci}/**/*.{ts,md,txt,yaml}', {
    cwd: project,
    exclude: ['**/node_modules/**'],
  });
  const named = [...read('CONTRIBUTING.md').matchAll(/`([\w./-]+\.(?:ts|md|txt|yaml))[` ]/g)].map(
    ([, file]) => file!,
  );
  expect(named).toContain('functions/operations.ts');
  const isIn = (name: string) => files.some((file) => file === name || file.endsWith(`/${name}`));
  expect(named.filter((name) => !name.includes('NAME') && !isIn(name))).toEqual([]);
});

describe('references from code to documents', () => {
  const code = globSync(
    [
      '{bench,bin,functions,lib,test,tools}/**/*.ts',
      'packages/*/{src,test}/**/*.ts',
      '.github/workflows/*.yml',
    ],
    { cwd: project, exclude: ['**/node_modules/**'] },
  );
  const references = code.flatMap((file) =>
    [...read(file).matchAll(/\bdocs\/([\w-]+\.md)(?:#([\w-]*\w))?/g)].map(([, page = '', anchor]) => ({
      file,
      page,
      anchor,
    })),
  );

  it('name a page that exists', () => {
    expect(references).not.toEqual([]);
    expect(references.filter(({ page }) => !documents.includes(join('docs', page)))).toEqual([]);
  });

  it('name a heading of the page', () => {
    const broken = references.filter(
      ({ page, anchor }) =>
        documents.includes(join('docs', page)) &&
        anchor !== undefined &&
        !anchorsOf(join('docs', page)).includes(anchor),
    );
    expect(broken).toEqual([]);
  });
});

describe.each(documents)('%s', (path) => {
  const text = read(path);

  it('names no script that does not exist', () => {
    const inProd = text.replaceAll('$STAGE', 'prod');
    // Scripts of a workspace's package.json are not looked for.
    const named = [...inProd.matchAll(/\bnpm run (?:--silent )?([a-z][\w:-]*)(?![\w:-]| --workspace)/g)].map(
      ([, script]) => script!,
    );
    expect(named.filter((script) => !(script in scripts))).toEqual([]);
  });

  it('names no test that does not exist', () => {
    const existing = new Set(
      globSync(['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'], { cwd: project }).map((file) =>
        file.split('/').at(-1),
      ),
    );
    const named = [...text.matchAll(/[\w-]+\.test\.ts/g)].map(([file]) => file);
    expect(named.filter((file) => !existing.has(file))).toEqual([]);
  });
});

describe('whoever pastes a whole block of a page', () => {
  /** Commands that make a dry run, or that cannot be undone. */
  const alone =
    /--dry-run|--overlap 0s|keys -- (revoke|forget)|pets -- (remove|import|backfill)|cdk -- import|delete-(table|log-group|stack|api-key)|update-alias|npm publish/;
  /** Commands, without those of AWS that only read. */
  const command = /\bnpm (?:run|publish) [^|)\n]+|\baws [\w-]+ (?!describe|get|list|wait)[^|)\n]+/g;

  it.each(documents)('runs nothing else with such a command of %s', (path) => {
    const crowded = [...read(path).matchAll(/^ *```sh\n([^]*?)^ *```$/gm)]
      .map(([, block]) => block!.replaceAll(/\\\n\s*/g, '').match(command) ?? [])
      .filter((commands) => commands.length > 1 && commands.some((each) => alone.test(each)));
    expect(crowded).toEqual([]);
  });

  it.each(documents.filter((path) => !/aws-checks/.test(path)))(
    'meets no comment in %s, which zsh would run',
    (path) => {
      const blocks = [...read(path).matchAll(/^ *```sh\n([^]*?)^ *```$/gm)].map(([, block]) =>
        block!.replaceAll(/<<'(\w+)'\n[^]*?^\1$/gm, ''),
      );
      expect(blocks.filter((block) => /(?:^|\s)#(?:\s|$)/m.test(block))).toEqual([]);
    },
  );

  it('chooses the stage of a rehearsal once', () => {
    const [, restore = ''] = /^## Restore data$([^]*?)^## /m.exec(read('docs/runbook.md')) ?? [];
    expect(restore.match(/.*(?:--stage prod|-prod\b).*/g)).toEqual([
      expect.stringContaining('export STAGE=prod STACK=AnimalStore-prod'),
    ]);
  });
});

/** The anchors of the headings. */
function anchorsOf(path: string): string[] {
  return [...read(path).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading!));
}

describe('the requirement of Node.js', () => {
  const { engines } = z
    .object({ engines: z.object({ node: z.string() }) })
    .parse(JSON.parse(read('package.json')));

  it.each(['README.md', 'CONTRIBUTING.md', 'docs/deploy.md'])('is that of package.json in %s', (page) => {
    const [, version] = /You need Node\.js ([\d.]+) or later/.exec(read(page)) ?? [];
    expect(version).toBe(engines.node.replace('>=', ''));
  });
});
