import { expect, test } from 'vitest';
import { repeatRefused } from '../../../functions/delivery/repeat-refused.ts';

const failureOf = (name: string) => Object.assign(new Error('refused'), { name });
const refused = failureOf('AccessDeniedException');

/** Runs a call that fails for so many milliseconds. Each attempt takes `duration`. */
async function run(failure: Error, failing: number, duration: number) {
  let now = 1_000;
  let attempts = 0;
  const call = async (): Promise<string> => {
    attempts += 1;
    now += duration;
    if (now - 1_000 - duration < failing) throw failure;
    return 'done';
  };
  const time = { now: () => now, sleep: async (milliseconds: number) => (now += milliseconds) };
  const [settled] = await Promise.allSettled([repeatRefused(call, now + 60_000, time)]);
  const result: unknown = settled.status === 'fulfilled' ? settled.value : settled.reason;
  return { result, attempts, took: now - 1_000 };
}

test('a refusal is repeated until the time that is given', async () => {
  expect(await run(refused, 0, 10)).toEqual({ result: 'done', attempts: 1, took: 10 });
  expect(await run(refused, 30_000, 10)).toMatchObject({ result: 'done' });
  expect(await run(refused, 57_000, 10)).toMatchObject({ result: 'done' });
  const { result, took } = await run(refused, Infinity, 10);
  expect(result).toBe(refused);
  expect(took).toBeGreaterThan(57_000);
  expect(took).toBeLessThanOrEqual(60_000);
});

test.each([
  'AccessDenied',
  'TooManyRequestsException',
  'ThrottlingException',
  'ProvisionedThroughputExceededException',
])('%s is repeated', async (name) => {
  expect(await run(failureOf(name), 30_000, 10)).toMatchObject({ result: 'done' });
});

test('attempts that take long do not add to it', async () => {
  expect(await run(refused, Infinity, 59_000)).toMatchObject({ result: refused, attempts: 1 });
});

test.each(['Error', 'ResourceNotFoundException', 'ServiceException'])(
  '%s is thrown at once',
  async (name) => {
    const error = failureOf(name);
    expect(await run(error, Infinity, 10)).toEqual({ result: error, attempts: 1, took: 10 });
  },
);
