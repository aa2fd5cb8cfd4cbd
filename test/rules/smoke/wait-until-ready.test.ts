import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Reply } from '../../../tools/operators/smoke/client.ts';
import { requestsNeeded, waitUntilReady } from '../../../tools/operators/smoke/wait-until-ready.ts';

/** A status, with the headers of the answer. */
type Answer = number | Error | readonly [number, Record<string, string>];

/** Runs it against these answers, the last of which repeats, on a clock that only sleeping moves. */
async function run(answers: readonly Answer[], patience = 120_000) {
  let now = 0;
  let calls = 0;
  const lines: string[] = [];
  const send = async (): Promise<Reply> => {
    const answer = answers[Math.min(calls, answers.length - 1)]!;
    calls += 1;
    if (answer instanceof Error) throw answer;
    const [status, headers] = typeof answer === 'number' ? [answer, {}] : answer;
    return { request: 'GET /pets', status, headers: new Headers(headers), text: '' };
  };
  const problem = await waitUntilReady(send, {
    patience,
    now: () => now,
    sleep: async (milliseconds) => void (now += milliseconds),
    report: (line) => lines.push(line),
  }).catch((error: Error) => error.message);
  return { problem, calls, lines, waited: now };
}

const refused = new TypeError('fetch failed', { cause: new Error('getaddrinfo ENOTFOUND api.example.com') });

describe('the first call of the smoke test', () => {
  it('is sent once when it is served', async () => {
    expect(await run([200])).toEqual({ problem: undefined, calls: 1, lines: [], waited: 0 });
  });

  it.each([403, 404, 500, 503, refused])(
    'is sent again after %s, with a line for each attempt',
    async (answer) => {
      const { problem, calls, lines } = await run([answer, answer, 200]);
      expect({ problem, calls }).toEqual({ problem: undefined, calls: 3 });
      expect(lines).toHaveLength(2);
      expect(lines[0]).toMatch(/^.+\. Next attempt in 1 s; giving up after another 120 s\.$/);
    },
  );

  it('waits two minutes for a key that the stage does not know yet, however patient it is', async () => {
    expect(await run([401, 401, 200])).toMatchObject({ problem: undefined });
    const problem = 'GET /pets answered 401: this stage does not know the API key.';
    expect(await run([401], 600_000)).toMatchObject({ problem, waited: 120_000 });
    expect(await run([401], 10_000)).toMatchObject({ problem, waited: 10_000 });
  });

  it('does not wait for a key that has too few requests left', async () => {
    const none = { calls: 1, lines: [], waited: 0 };
    expect(await run([[429, { 'Retry-After': '40' }]])).toEqual({
      problem: 'GET /pets answered 429. Try again in 40 seconds.',
      ...none,
    });
    const headers = { 'X-RateLimit-Remaining': '3', 'X-RateLimit-Reset': '1793800230' };
    expect(await run([[200, headers]])).toEqual({
      problem: `The API key has 3 requests left, and the smoke test needs ${requestsNeeded}. Try again at 2026-11-04T13:50:30Z.`,
      ...none,
    });
  });

  it('gives up after exactly the time that it was given, and says why', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 600_000 }), async (patience) => {
        const { problem, waited } = await run([503], patience);
        expect(waited).toBe(patience);
        expect(problem).toBe('GET /pets answered 503.');
      }),
    );
    expect((await run([refused])).problem).toBe(
      'No response (fetch failed: getaddrinfo ENOTFOUND api.example.com). Check the address, and that the service is running.',
    );
  });
});
