import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { retryDelay } from '../../../tools/operators/command-line/retry.ts';

type CallError = Parameters<typeof retryDelay>[0];
const error = (name: string, message: string, extra: object = {}) =>
  Object.assign(new Error(message), { name, ...extra }) as CallError;
const concurrent = error(
  'ConflictException',
  'Unable to complete operation due to concurrent modification. Please try again later.',
);
const call = 'CreateApiKeyCommand';

/** Delays of a call that always fails with this error. */
function delays(failure: CallError, command: string, random = 0.5): number[] {
  const all: number[] = [];
  for (let attempt = 1; ; attempt += 1) {
    const delay = retryDelay(failure, command, attempt, random);
    if (delay === undefined) return all;
    all.push(delay);
  }
}

describe('a call to API Gateway', () => {
  test.each([
    ['a concurrent modification', concurrent],
    ['429', error('TooManyRequestsException', 'Too Many Requests')],
  ])('that gets %s is made ten times, 1 s later at first, at most 20 s later', (_what, failure) => {
    const expected = [1, 2, 4, 8, 16, 20, 20, 20, 20].map((seconds) => seconds * 1000);
    expect(delays(failure, call)).toEqual(expected);
  });

  test('waits a random time, so that two runs do not meet again', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (random) => {
        const [first = 0, second = 0] = delays(concurrent, call, random);
        expect(first).toBeGreaterThanOrEqual(500);
        expect(first).toBeLessThanOrEqual(1500);
        expect(second).toBeCloseTo(first * 2, -1);
      }),
    );
  });

  test('that gets NotFound for a key that was just created is made five times', () => {
    const failure = error('NotFoundException', 'Invalid API Key identifier specified');
    expect(delays(failure, 'CreateUsagePlanKeyCommand')).toHaveLength(4);
    expect(delays(failure, 'DeleteApiKeyCommand')).toEqual([]);
  });

  test.each([
    ['an existing key', error('ConflictException', 'API Key already exists')],
    ['bad input', error('BadRequestException', 'Invalid API Key value specified')],
    ['a full account', error('LimitExceededException', 'x', { $metadata: { httpStatusCode: 429 } })],
  ])('that gets %s is not repeated', (_what, failure) => {
    expect(delays(failure, call)).toEqual([]);
  });

  test.each([
    ['500', error('Odd', 'x', { $metadata: { httpStatusCode: 500 } })],
    ['a broken connection', error('Error', 'x', { code: 'ECONNRESET' })],
    ['a host name that is not found', error('Error', 'x', { code: 'ENOTFOUND' })],
    ['no answer in time', error('TimeoutError', 'x')],
  ])('that gets %s is made ten times', (_what, failure) => {
    expect(delays(failure, call)).toHaveLength(9);
  });

  test('that finds nobody at the address is not repeated if it is the first', () => {
    const failure = error('Error', 'x', { code: 'ECONNREFUSED' });
    expect(delays(failure, 'DescribeStacksCommand')).toEqual([]);
    expect(delays(failure, call)).toHaveLength(9);
  });
});
