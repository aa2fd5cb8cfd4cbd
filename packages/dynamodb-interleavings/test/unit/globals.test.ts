import crypto, {
  getRandomValues,
  randomBytes,
  randomFill,
  randomFillSync,
  randomInt,
  randomUUID,
} from 'node:crypto';
import timers from 'node:timers';
import { scheduler, setInterval as every, setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { explore, type Request } from '../../src/index.ts';

// These tests try clock, timers and random numbers of Node.js, each in every form that code finds it in.

const tables = [
  {
    TableName: 'Items',
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
  },
] as const;
const startsAt = '2031-05-05T00:00:00.000Z';
const touch: Request = ({ client: { requestHandler } }) =>
  requestHandler.handle({
    headers: { 'x-amz-target': 'DynamoDB_20120810.Scan' },
    body: JSON.stringify({ TableName: 'Items' }),
  });

/** What a request returns, by what `bounds` says. */
async function returned(request: () => unknown) {
  const values: unknown[] = [];
  const { bounds } = await explore({
    tables,
    startsAt,
    requests: [
      async (environment) => {
        await touch(environment);
        return request();
      },
    ],
    check: ({ outcomes: [outcome] }) =>
      void values.push(outcome!.status === 'fulfilled' ? outcome!.value : outcome),
  });
  return { value: values[0], bounds };
}

describe('a random number is the same in every run, and', () => {
  const withCallback = (draw: (done: (error: Error | null, drawn: unknown) => void) => void) => () =>
    new Promise((resolve) => draw((_, drawn) => resolve(drawn)));
  const draws: Readonly<Record<string, () => unknown>> = {
    'Math.random': () => Math.random(),
    randomUUID: () => randomUUID(),
    'crypto.randomUUID': () => globalThis.crypto.randomUUID(),
    'randomInt below': () => randomInt(1_000_000),
    'randomInt from': () => randomInt(1_000_000, 2_000_000),
    'randomInt with a callback': withCallback((done) => randomInt(1_000_000, done)),
    randomBytes: () => randomBytes(8).toString('hex'),
    'randomBytes with a callback': withCallback((done) => randomBytes(8, done)),
    randomFillSync: () => randomFillSync(new Uint16Array(4), 1, 2).join(),
    'randomFill with a callback': withCallback((done) => randomFill(new Uint8Array(8), done)),
    getRandomValues: () => getRandomValues(new Uint32Array(2)).join(),
    'crypto.getRandomValues': () => globalThis.crypto.getRandomValues(new Uint8Array(8)).join(),
    'webcrypto.getRandomValues': () => crypto.webcrypto.getRandomValues(new Uint8Array(8)).join(),
  };
  test.each(Object.entries(draws))('bounds name it: %s', async (_, draw) => {
    const [first, second] = [await returned(draw), await returned(draw)];
    expect(first.value).toEqual(second.value);
    expect(first.value).not.toEqual(await draw());
    expect(first.bounds).toMatch(/; one draw of each random number; /);
  });

  test('without one, bounds do not name it', async () => {
    expect((await returned(() => 1)).bounds).not.toMatch('random');
  });

  test('ranges are kept', async () => {
    const { value } = await returned(() => [
      Array.from({ length: 100 }, () => randomInt(3, 6)),
      [...randomFillSync(new Uint8Array(8), 2, 3)],
      /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/.test(randomUUID()),
    ]);
    const [integers, bytes, isUuid] = value as [number[], number[], boolean];
    expect(new Set(integers)).toEqual(new Set([3, 4, 5]));
    expect(bytes.map((each, index) => each === 0 || (index >= 2 && index < 5))).toEqual(
      bytes.map(() => true),
    );
    expect(isUuid).toBe(true);
  });
});

/** Milliseconds that pass meanwhile. */
const taken = async (work: () => unknown) => {
  const from = Date.now();
  await work();
  return Date.now() - from;
};
const before = new Date('2020-02-02T02:02:02Z');
const format = new Intl.DateTimeFormat('en-GB', { year: 'numeric', timeZone: 'UTC' });

describe('time is that of the simulation:', () => {
  test.each<[string, () => unknown, unknown]>([
    ['Date as a function', () => new Date(Date()).toISOString(), startsAt],
    ['new Date', () => new Date().toISOString(), startsAt],
    ['a date with its parts', () => new Date(2020, 1).getMonth(), 1],
    ['a date that was made before is one', () => before instanceof Date, true],
    ['a date has its constructor', () => new Date().constructor === Date, true],
    ['a class of dates', () => new (class Day extends Date {})() instanceof Date, true],
    [
      'Intl.DateTimeFormat',
      () => new Intl.DateTimeFormat('en-GB', { year: 'numeric', timeZone: 'UTC' }).format(),
      '2031',
    ],
    // oxlint-disable-next-line unicorn/throw-new-error
    [
      'Intl.DateTimeFormat as a function',
      () => Intl.DateTimeFormat('en-GB', { year: 'numeric', timeZone: 'UTC' }).format(),
      '2031',
    ],
    ['a format that was made before', () => format.format(), '2031'],
    ['the parts of a format', () => format.formatToParts()[0]!.value, '2031'],
    ['a format of a date', () => format.format(before), '2020'],
    ['setTimeout', () => taken(() => new Promise((resolve) => setTimeout(resolve, 500))), 500],
    [
      'setTimeout of node:timers',
      () => taken(() => new Promise((resolve) => timers.setTimeout(resolve, 500))),
      500,
    ],
    [
      'a delay as text',
      () => taken(() => new Promise((resolve) => setTimeout(resolve, '500' as never))),
      500,
    ],
    ['a delay that is no number', () => taken(() => new Promise((resolve) => setTimeout(resolve, NaN))), 0],
    [
      'a delay that is too long',
      () => taken(() => new Promise((resolve) => setTimeout(resolve, 2 ** 31))),
      1,
    ],
    ['setTimeout as a promise', () => taken(() => promisify(setTimeout)(500)), 500],
    ['setTimeout of node:timers/promises', () => taken(() => sleep(500)), 500],
    ['scheduler.wait', () => taken(() => scheduler.wait(500)), 500],
    [
      'scheduler.yield',
      () => taken(() => (scheduler as unknown as { yield: () => Promise<void> }).yield()),
      0,
    ],
    [
      'AbortSignal.timeout',
      () =>
        taken(() => new Promise((resolve) => AbortSignal.timeout(500).addEventListener('abort', resolve))),
      500,
    ],
    [
      'setInterval of node:timers/promises, which does not drift',
      () =>
        taken(async () => {
          let count = 0;
          for await (const value of every(500, 'tick')) {
            expect(value).toBe('tick');
            await sleep(100);
            if ((count += 1) === 3) break;
          }
        }),
      1_600,
    ],
    [
      'setInterval that is ended by its number',
      async () => {
        let count = 0;
        const interval = Number(setInterval(() => (count += 1), 100));
        await sleep(350);
        clearInterval(interval);
        await sleep(500);
        return count;
      },
      3,
    ],
    [
      'clearTimeout of a number, a text and an object',
      async () => {
        let count = 0;
        for (const each of [Number, String, (handle: unknown) => handle])
          clearTimeout(each(setTimeout(() => (count += 1), 100)) as never);
        setTimeout(() => (count += 10), 100);
        clearTimeout(undefined);
        await sleep(500);
        return count;
      },
      10,
    ],
    [
      'timeout.refresh',
      async () => {
        const at: number[] = [];
        const from = Date.now();
        const timeout = setTimeout(() => at.push(Date.now() - from), 500);
        await sleep(300);
        timeout.refresh();
        await sleep(1_000);
        timeout.refresh();
        await sleep(1_000);
        return at.join();
      },
      '800,1800',
    ],
    [
      'a wait that is aborted',
      () => {
        const controller = new AbortController();
        const waiting = sleep(500, undefined, { signal: controller.signal }).catch(
          (error: NodeJS.ErrnoException) => error.code,
        );
        controller.abort();
        return waiting;
      },
      'ABORT_ERR',
    ],
    [
      'process.hrtime',
      async () => {
        const [from, bigint] = [process.hrtime(), process.hrtime.bigint()];
        await sleep(1_500);
        return `${process.hrtime(from).join()} ${process.hrtime.bigint() - bigint}`;
      },
      '1,500000000 1500000000',
    ],
    [
      'process.uptime',
      async () => {
        const from = process.uptime();
        await sleep(1_500);
        return Math.round((process.uptime() - from) * 1_000);
      },
      1_500,
    ],
    ['performance.timeOrigin', () => performance.timeOrigin + performance.now() - Date.now(), 0],
    [
      'clearImmediate',
      async () => {
        let count = 0;
        clearImmediate(setImmediate(() => (count += 1)));
        await new Promise((resolve) => setImmediate(resolve));
        return count;
      },
      0,
    ],
  ])('%s', async (_, work, expected) => {
    expect((await returned(work)).value).toBe(expected);
  });

  test('and is given back', async () => {
    const names = ['Date', 'setTimeout', 'setImmediate'] as const;
    const originals = names.map((name) => globalThis[name]);
    const hrtime = process.hrtime;
    const { timeOrigin } = performance;
    await returned(() => 1);
    expect(names.map((name) => globalThis[name])).toEqual(originals);
    expect([process.hrtime, performance.timeOrigin, new Date().constructor]).toEqual([
      hrtime,
      timeOrigin,
      Date,
    ]);
    expect(process.uptime()).toBeLessThan(Date.parse(startsAt) / 1_000);
    expect(Number(format.format())).toBeLessThan(2031);
    expect(randomBytes(8)).not.toEqual(randomBytes(8));
  });
});
