import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { type Environment, explore, type Options } from '../../src/index.ts';
import { Bundle } from '../../src/simulation.ts';

/*
 * What a module keeps would be the same in every schedule, or be shared by requests that have nothing in common on AWS. So nothing would
 * be proven, and the run is refused.
 */

const TableName = 'Items';
const tables = [
  {
    TableName,
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
  },
] as const;
type Program = (environment: Environment) => Promise<unknown>;

async function call({ client: { requestHandler } }: Environment, operation: string, input: object) {
  const headers = { 'x-amz-target': `DynamoDB_20120810.${operation}` };
  const { response } = await requestHandler.handle({
    headers,
    body: JSON.stringify({ TableName, ...input }),
  });
  const { body } = response as { readonly body: Buffer };
  return JSON.parse(body.toString()) as { __type?: string; Item?: { n: { N: string } } };
}
const get = async (environment: Environment, id: string) =>
  (await call(environment, 'GetItem', { Key: { id: { S: id } }, ConsistentRead: true })).Item?.n.N ?? '0';
const put = (environment: Environment, id: string, n: number | string = 0, more: object = {}) =>
  call(environment, 'PutItem', { Item: { id: { S: id }, n: { N: String(n) } }, ...more });
const putOnce = async (environment: Environment, id: string) =>
  (await put(environment, id, 0, { ConditionExpression: 'attribute_not_exists(id)' })).__type === undefined;
const increment: Program = async (environment) =>
  put(environment, 'count', Number(await get(environment, 'count')) + 1);

const run = (requests: readonly Program[], more: Partial<Options> = {}) =>
  explore({ tables, requests, check: () => undefined, ...more });
const refused = /`Bundle`/;

/** What a module keeps, as it is before the first request. */
let kept: { value: unknown; count: number; last: Promise<unknown>; names: Set<string> };
beforeEach(() => {
  kept = { value: undefined, count: 0, last: Promise.resolve(), names: new Set() };
});

const readOnce: Program = async (environment) => (kept.value ??= await get(environment, 'settings'));
const programs: Readonly<Record<string, Program>> = {
  'what it has read': async (environment) => put(environment, 'a', String(await readOnce(environment))),
  'what it has read, for a minute': async (environment) => {
    const { until } = (kept.value ??= { until: 0 }) as { until: number };
    if (until < Date.now()) await get(environment, 'settings');
    kept.value = { until: Date.now() + 60_000 };
    await put(environment, 'a');
  },
  'what it has done': async (environment) => {
    const isNew = !kept.names.has('a');
    kept.names.add('a');
    return isNew && increment(environment);
  },
  'a number that rises': (environment) => put(environment, 'a', (kept.count += 1)),
  'whose turn it is': (environment) =>
    increment(environment).then(() => put(environment, `${(kept.count += 1) % 2}`)),
  'whose turn it is, from the start': (environment) => put(environment, `shard ${(kept.count += 1) % 2}`),
  'a number that rises, in a name': (environment) =>
    put(environment, `order-${String((kept.count += 1)).padStart(8, '0')}`),
  'how long to wait': async (environment) => {
    kept.count += 1;
    await new Promise((resolve) => setTimeout(resolve, 100 * kept.count));
    return increment(environment);
  },
  'how long to wait, after a call': async (environment) => {
    await get(environment, environment.name);
    kept.count += 1;
    await new Promise((resolve) => setTimeout(resolve, 100 * kept.count)).finally(() => (kept.count -= 1));
    return increment(environment);
  },
  'what it has read after a conflict': async (environment) => {
    if (!(await putOnce(environment, 'a'))) await readOnce(environment);
    await put(environment, 'b');
  },
  'a lock': (environment) => {
    const mine = kept.last.then(() => increment(environment));
    kept.last = mine;
    return mine;
  },
  'a call that is not over': async (environment) => {
    const reading = (kept.value ??= get(environment, 'count').finally(
      () => (kept.value = undefined),
    )) as Promise<string>;
    return put(environment, 'count', Number(await reading) + 1);
  },
  'that it is busy': async (environment) => {
    if (kept.value === true) return 'busy';
    kept.value = true;
    return increment(environment).finally(() => (kept.value = false));
  },
  'that it is busy, after a call': async (environment) => {
    await get(environment, environment.name);
    if (kept.value === true) return 'busy';
    kept.value = true;
    return increment(environment).finally(() => (kept.value = false));
  },
};

describe('a module that keeps', () => {
  test('what it has read last is refused', async () => {
    const program: Program = async (environment) => {
      const before = kept.value;
      kept.value = await get(environment, 'settings');
      await put(environment, 'a', (before ?? kept.value) as string);
    };
    const change: Program = async (environment) => {
      await get(environment, 'b');
      await put(environment, 'settings', 7);
    };
    await expect(run([program, change])).rejects.toThrow(refused);
  });

  // The first schedule runs the requests one after the other, so a later one finds what an earlier one has kept in all schedules.
  test.each([2, 3])(
    'what another one of %i requests uses is refused, but only if that comes before it in `requests`',
    async (count) => {
      const keep: Program = async (environment) => (kept.value = await get(environment, 'settings'));
      const use: Program = async (environment) => {
        const visits = await get(environment, 'b');
        await put(environment, 'a', kept.value === undefined ? 7 : visits);
      };
      const others = [(environment: Environment) => put(environment, 'b', 1)].slice(0, count - 2);
      const requests = [keep, use, ...others];
      const report = await run(requests, {
        check: ({ tables: all }) => (all.items(TableName)[0]!['n'] === 7 ? 'It is not there.' : undefined),
      });
      expect(report).toMatchObject({ isComplete: true, violations: 0 });
      kept.value = undefined;
      await expect(run(requests.toReversed())).rejects.toThrow(refused);
    },
  );

  test('whether its last call has failed is refused', async () => {
    const program: Program = async (environment) => {
      const hasFailed = kept.value === true;
      kept.value = await increment(environment).then(
        () => false,
        () => true,
      );
      if (hasFailed) await put(environment, 'alarm');
    };
    await expect(run([program], { faults: 1, kinds: ['lostBefore'] })).rejects.toThrow(refused);
  });

  test.each(Object.entries(programs))('%s is refused', async (_, program) => {
    await expect(run([program, program])).rejects.toThrow(refused);
  });

  test('how often a service has failed is refused', async () => {
    const breaker: Program = async (environment) => {
      if (kept.count >= 3) throw new Error('The circuit is open.');
      try {
        return await increment(environment);
      } catch (error) {
        kept.count += 1;
        throw error;
      }
    };
    await expect(run([breaker, breaker], { faults: 1, kinds: ['lostBefore'] })).rejects.toThrow(refused);
  });

  test.each([
    'what it has read',
    'what it has done',
    'a number that rises',
    'a number that rises, in a name',
    'how long to wait',
    'what it has read after a conflict',
  ])('%s is refused beside what is shared', async (name) => {
    const program = programs[name]!;
    await expect(run([program, program], { shared: () => ({}) })).rejects.toThrow(refused);
  });

  test('the message names what the request does, and what it has done before', async () => {
    await expect(run([readOnce, increment])).rejects.toThrow(
      'After the same answers, request 1 once calls GetItem Items {id: "settings"} and once returns "0". So something outside of the ' +
        'requests is not the same each time',
    );
  });
});

test('clocks of Node.js are those of the simulation in a file of a bundle', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'clocks-'));
  writeFileSync(
    join(folder, 'clocks.js'),
    `const read = () => [process.hrtime.bigint() / 1000000n, process.uptime() * 1e3, performance.timeOrigin + performance.now()];
     export const handler = async () => {
       const from = read();
       await new Promise((resolve) => process.nextTick(resolve));
       await new Promise((resolve) => setTimeout(resolve, 1500));
       return [...read().map((each, index) => Number(each) - Number(from[index])), performance.timeOrigin + performance.now() - Date.now()].map(Math.round);
     };`,
  );
  const bundle = await Bundle.build({
    entryPoints: { clocks: join(folder, 'clocks.js') },
    esbuild: { absWorkingDir: folder },
  });
  rmSync(folder, { recursive: true });
  const values: unknown[] = [];
  const read: Program = async (environment) => {
    await put(environment, 'a');
    const { world, client } = environment;
    const host = { world, clockOffset: 90_000, random: Math.random, variables: {}, ...client };
    return (bundle.start('clocks', host)['handler'] as () => Promise<unknown>)();
  };
  await run([read], {
    check: ({ outcomes: [outcome] }) => void values.push(outcome),
  });
  expect(values[0]).toMatchObject({ value: [1_500, 1_500, 1_500, 0] });
});

test('random numbers that a library has kept when it was loaded are refused', async () => {
  const { random } = Math;
  await expect(run([(environment) => put(environment, 'a', random())])).rejects.toThrow(refused);
});

describe('what is no state', () => {
  const expected = 4;

  test('is a pool of random numbers, beside random delays', async () => {
    const pooled: Program = async (environment) => {
      const pool = (kept.value ??= crypto.getRandomValues(new Uint8Array(64))) as Uint8Array;
      kept.count += 16;
      if (kept.count > pool.length - 16) kept = { ...kept, value: undefined, count: 0 };
      const id = Buffer.from(pool.subarray(kept.count, kept.count + 16)).toString('base64url');
      await new Promise((resolve) => setTimeout(resolve, 1 + Math.floor(Math.random() * 20)));
      await put(environment, id);
    };
    expect(await run([pooled, pooled])).toMatchObject({ isComplete: true, failure: undefined });
  });

  test('is a pool of random numbers', async () => {
    const pooled: Program = async (environment) => {
      const pool = (kept.value ??= crypto.getRandomValues(new Uint8Array(4_096))) as Uint8Array;
      kept.count += 16;
      await increment(environment);
      await put(environment, Buffer.from(pool.subarray(kept.count, kept.count + 16)).toString('base64url'));
    };
    expect(await run([pooled, pooled])).toMatchObject({ schedules: expected, isComplete: true });
  });

  test.each<[string, () => Promise<unknown>]>([
    ['a module that is loaded', () => import('node:dns')],
    ['a turn of the event loop', () => nextTurn()],
    [
      'many turns of the event loop',
      async () => {
        for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      },
    ],
    ['work in another thread', () => promisify(gzip)('x'.repeat(1_000))],
  ])('is %s', async (_, wait) => {
    const waiting: Program = async (environment) => {
      const count = Number(await get(environment, 'count'));
      await wait();
      return put(environment, 'count', count + 1);
    };
    const counts = new Set<unknown>();
    const report = await run([waiting, waiting], {
      check: ({ tables: all }) => void counts.add(all.items(TableName)[0]?.['n']),
    });
    expect(report).toMatchObject({ schedules: expected, isComplete: true });
    expect(counts).toEqual(new Set([1, 2]));
  });
});

describe('a package of a bundle', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bundle-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const write = (path: string, text: string) => {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  write('package.json', '{"name":"app"}');
  write('node_modules/memo/package.json', '{"name":"memo","main":"index.js"}');
  write(
    'node_modules/memo/index.js',
    `let value;
     exports.once = (read) => (value ??= read());`,
  );
  write(
    'handler.js',
    `import { once } from 'memo';
     export const handler = async (get, put) => put(await once(get));`,
  );
  const request =
    (bundle: Bundle): Program =>
    (environment) => {
      const { world, client } = environment;
      const host = { world, clockOffset: 0, random: Math.random, variables: {}, ...client };
      const handler = bundle.start('handler', host)['handler'] as (...all: unknown[]) => Promise<unknown>;
      return handler(
        () => get(environment, 'count'),
        (count: string) => put(environment, 'count', Number(count) + 1),
      );
    };
  const build = (own: readonly string[]) =>
    Bundle.build({
      entryPoints: { handler: join(folder, 'handler.js') },
      esbuild: { absWorkingDir: folder },
      own,
    });

  test('that keeps state is refused', async () => {
    const visit = request(await build([]));
    await expect(run([visit, visit])).rejects.toThrow(refused);
  });

  test('that is an own one of each environment is explored', async () => {
    const visit = request(await build(['memo']));
    expect(await run([visit, visit])).toMatchObject({ schedules: 4, isComplete: true });
  });
});
