import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { timeToAnswer, withDeadline } from '../../../functions/runtime/deadline.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Work that never ends by itself and rejects when its signal is aborted, as a call of the SDK does. */
const endless = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new DOMException('Request aborted', 'AbortError')));
  });

describe('work with a deadline', () => {
  test('that is done in time gives its result and leaves no timer', async () => {
    expect(await withDeadline('The work', 100, async (signal) => [signal.aborted, 7])).toEqual([false, 7]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('that fails in time throws its own error and leaves no timer', async () => {
    const error = new Error('failed');
    const failing = withDeadline('The work', 100, () => Promise.reject(error));
    await expect(failing).rejects.toBe(error);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([
    [100, 100],
    [99.6, 100],
    [100.4, 100],
  ])('of %d ms is aborted after %d ms, not before', async (milliseconds, limit) => {
    let ended = false;
    const result = withDeadline('The work', milliseconds, endless).catch((error: unknown) => {
      ended = true;
      return error;
    });
    await vi.advanceTimersByTimeAsync(limit - 1);
    expect(ended).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await result).toMatchObject({
      name: 'TimeoutError',
      message: `The work did not finish within ${limit} ms`,
      cause: { name: 'AbortError' },
    });
  });

  test.each([0, -1, -1_000])('of %d ms is aborted at once', async (milliseconds) => {
    const result = withDeadline('The work', milliseconds, endless).catch((error: unknown) => error);
    // A timer of 0 ms takes the shortest time there is.
    await vi.advanceTimersByTimeAsync(1);
    expect(await result).toMatchObject({ message: 'The work did not finish within 0 ms' });
  });

  test('that finishes after the deadline all the same gives its result', async () => {
    const late = withDeadline('The work', 10, async () => {
      await vi.advanceTimersByTimeAsync(20);
      return 'done';
    });
    expect(await late).toBe('done');
  });
});

test('less time is kept for the answer than the shortest time-out of a function, one second', () => {
  expect(timeToAnswer).toBeGreaterThan(0);
  expect(timeToAnswer).toBeLessThan(1_000);
});
