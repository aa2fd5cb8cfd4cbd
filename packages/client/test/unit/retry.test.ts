import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ApiError, ConnectionError, InvalidAnswerError, TimeoutError } from '../../src/errors.ts';
import { retryDelay } from '../../src/retry.ts';
import { error, lost, respond, rex, scripted } from '../support.ts';

const settings = { maxRetries: 5, maxRetryDelay: 60_000 };

function apiError(status: number, retryAfter?: number): ApiError {
  return new ApiError('some_code', 'message', { status, headers: new Headers(), retryAfter });
}

const transientStatuses = [408, 429, 500, 502, 503, 504];
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const attempts = fc.integer({ min: 1, max: 5 });

describe('The wait before another attempt', () => {
  it('is at least what the service asks for, and at most 8 seconds longer', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...transientStatuses),
        fc.integer({ min: 0, max: 60_000 }),
        attempts,
        random,
        (status, asked, attempt, drawn) => {
          const delay = retryDelay(apiError(status, asked), attempt, settings, drawn);
          expect(delay).toBeGreaterThanOrEqual(asked);
          expect(delay).toBeLessThanOrEqual(asked + 8_000);
        },
      ),
    );
  });

  it('doubles with each attempt, with full jitter', () => {
    for (const failure of [new ConnectionError('u', undefined), new TimeoutError('u', 1), apiError(500)]) {
      expect([1, 2, 3, 4].map((attempt) => retryDelay(failure, attempt, settings, 0.5))).toEqual([
        125, 250, 500, 1_000,
      ]);
      expect(retryDelay(failure, 3, settings, 0)).toBe(0);
    }
  });

  it('spreads the clients that wait for the same start of a window', () => {
    const clients = Array.from({ length: 100 }, (_, client) => client / 100);
    const delays = clients.map((drawn) => retryDelay(apiError(429, 40_000), 1, settings, drawn)!);

    expect(Math.max(...delays) - Math.min(...delays)).toBeGreaterThan(7_000);
    expect(retryDelay(apiError(429, 1_000), 1, settings, 0.5)).toBe(1_500);
  });

  it('does not happen when the service asks for more than maxRetryDelay, or after the last attempt', () => {
    expect(retryDelay(apiError(429, 60_001), 1, settings, 0)).toBeUndefined();
    expect(retryDelay(apiError(503, 1_000), 6, settings, 0)).toBeUndefined();
    expect(retryDelay(apiError(503, 1_000), 1, { ...settings, maxRetries: 0 }, 0)).toBeUndefined();
  });

  it.each([0, 301, 302, 307, 308, 400, 401, 403, 404, 405, 413, 415, 422, 501])(
    'does not happen on %d',
    (status) => {
      expect(retryDelay(apiError(status, 1_000), 1, settings, 0)).toBeUndefined();
      expect(retryDelay(new InvalidAnswerError('x'), 1, settings, 0)).toBeUndefined();
    },
  );
});

describe('A call is repeated', () => {
  it('as late as Retry-After says', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const limited = error(429, 'rate_limit_exceeded', { 'Retry-After': '1' });
    const { store, sent } = scripted([limited, respond(200, rex)]);
    const call = store.pets.get(1);
    await vi.advanceTimersByTimeAsync(999);
    expect(sent).toHaveLength(1);
    await vi.runAllTimersAsync();
    expect(await call).toMatchObject({ name: 'Rex' });
  });

  it('not when the wait is longer than maxRetryDelay', async () => {
    const { store } = scripted([error(429, 'key_suspended', { 'Retry-After': '600' })]);
    await expect(store.pets.get(1)).rejects.toMatchObject({ code: 'key_suspended', retryAfter: 600_000 });
  });

  it('maxRetries times, by the store or by the call, and then fails with the last cause', async () => {
    const { store, sent } = scripted([lost, lost, lost, lost], { maxRetries: 2, maxRetryDelay: 1 });
    await expect(store.pets.get(1)).rejects.toBeInstanceOf(ConnectionError);
    expect(sent).toHaveLength(3);
    await expect(store.pets.get(1, { maxRetries: 0 })).rejects.toBeInstanceOf(ConnectionError);
    expect(sent).toHaveLength(4);
  });
});
