import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Environment, explore, type Outcome } from '../../src/index.ts';
import { Bundle, Random, World } from '../../src/simulation.ts';

// The functions are as they are deployed, with the client that they make and what they keep between calls.

const visits = {
  TableName: 'Visits',
  KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
  AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
} as const;
const variables = {
  TABLE: 'Visits',
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'a',
  AWS_SECRET_ACCESS_KEY: 'b',
};
let bundle: Bundle;
const folder = mkdtempSync(join(tmpdir(), 'library-'));
afterAll(() => rmSync(folder, { recursive: true }));
const library = `
/** Puts a visit. */
export async function put({ client }: any): Promise<void> {
  const body = JSON.stringify({ TableName: 'Visits', Item: { id: { S: 'a' } } });
  await client.requestHandler.handle({ headers: { 'x-amz-target': 'DynamoDB_20120810.PutItem' }, body });
}
`;

beforeAll(async () => {
  bundle = await Bundle.build({
    entryPoints: {
      visits: join(import.meta.dirname, '../functions/visits.ts'),
      later: join(import.meta.dirname, '../functions/later.ts'),
    },
  });
});

test('a failure names the line of the source', async () => {
  const { failure } = await explore({
    tables: [visits],
    requests: [
      async ({ world, client: { requestHandler } }) => {
        const host = { world, clockOffset: 0, random: Math.random, variables, requestHandler };
        return (bundle.start('visits', host)['handler'] as () => Promise<object>)();
      },
    ],
    check: () => 'Wrong.',
  });
  expect(failure!.trace[0]).toMatch(/test[\\/]functions[\\/]visits\.ts:13$/);
});

test.each(['inline', 'linked'] as const)(
  'a failure names the line of the source of a built library, map %s',
  async (sourcemap) => {
    const outdir = join(folder, sourcemap);
    await build({
      stdin: { contents: library, loader: 'ts', sourcefile: 'library.ts', resolveDir: folder },
      outdir,
      format: 'cjs',
      minify: true,
      sourcemap,
    });
    const { put } = createRequire(import.meta.url)(join(outdir, 'stdin.js')) as {
      readonly put: (environment: Environment) => Promise<unknown>;
    };
    const { failure } = await explore({ tables: [visits], requests: [put], check: () => 'Wrong.' });
    expect(failure!.trace[0]).toMatch(/library\.ts:5$/);
  },
);

test('each environment has its own modules, clock and random numbers, and its calls meet the network', async () => {
  const seen: (readonly Outcome[])[] = [];
  const requests = [0, 90_000].map((clockOffset, index) => async ({ world, client }: Environment) => {
    const random = new Random(index + 1).next;
    const host = { world, clockOffset, random, variables, requestHandler: client.requestHandler };
    const { handler } = bundle.start('visits', host);
    return (handler as () => Promise<object>)();
  });
  const report = await explore({
    tables: [visits],
    requests,
    check: ({ outcomes }) => void seen.push(outcomes),
  });
  expect(report).toMatchObject({ schedules: 2, isComplete: true });
  const values = seen.map((outcomes) =>
    outcomes.map(
      (outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome) as { visits: number },
    ),
  );
  expect(new Set(values.map((both) => both.map(({ visits: count }) => count).join()))).toEqual(
    new Set(['1,2', '2,1']),
  );
  for (const both of values)
    expect(both).toMatchObject([
      {
        calls: 1,
        startedAt: '2026-01-01T00:00:00.000Z',
        at: '2026-01-01T00:00:01.000Z',
        random: 0.6270739405881613,
      },
      { calls: 1, startedAt: '2026-01-01T00:01:30.000Z', at: '2026-01-01T00:01:31.000Z' },
    ]);
});

test('packages that are imported later meet the network, and files that are not part of it are loaded', async () => {
  const sent: string[] = [];
  const requestHandler = {
    handle: async ({ headers }: { readonly headers: Readonly<Record<string, string>> }) => {
      sent.push(headers['x-amz-target']!);
      throw new Error('Nobody is there.');
    },
  };
  const world = new World(0, () => 0);
  const host = { world, clockOffset: 0, random: () => 0, variables, requestHandler: requestHandler as never };
  const load = bundle.start('later', host)['load'] as (file: string) => Promise<unknown>;
  expect(await load('data:text/javascript,export default 7;')).toMatchObject({ default: 7 });
  expect(sent).toEqual(['DynamoDB_20120810.ListTables']);
});
