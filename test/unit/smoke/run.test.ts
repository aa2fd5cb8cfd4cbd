import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isBaseUrl, type Reply } from '../../../tools/operators/smoke/client.ts';
import { type Readiness, requestsNeeded, waitUntilReady } from '../../../tools/operators/smoke/run.ts';

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
  const outcome: Readiness = await waitUntilReady(send, {
    patience,
    now: () => now,
    sleep: async (milliseconds) => void (now += milliseconds),
    report: (line) => lines.push(line),
  });
  return { outcome, calls, lines, waited: now };
}

const refused = new TypeError('fetch failed', { cause: new Error('getaddrinfo ENOTFOUND api.example.com') });

describe('the first call of the smoke test', () => {
  it('is sent once when it is served', async () => {
    expect(await run([200])).toEqual({ outcome: { kind: 'ready' }, calls: 1, lines: [], waited: 0 });
  });

  it.each([403, 404, 500, 503, refused])(
    'is sent again after %s, with a line for each attempt',
    async (answer) => {
      const { outcome, calls, lines } = await run([answer, answer, 200]);
      expect({ outcome, calls }).toEqual({ outcome: { kind: 'ready' }, calls: 3 });
      expect(lines).toHaveLength(2);
      expect(lines[0]).toMatch(/^Not ready yet: .+\. Next attempt in 1 s; giving up after another 120 s\.$/);
    },
  );

  it('waits a quarter of a minute for a key that the stage does not know yet', async () => {
    expect((await run([401, 401, 200])).outcome).toEqual({ kind: 'ready' });
    const { outcome, waited } = await run([401]);
    expect(outcome).toEqual({
      kind: 'rejected',
      why: 'GET /pets answered 401: this stage does not know the API key',
    });
    expect(waited).toBe(15_000);
  });

  it('does not wait for a key that has too few requests left', async () => {
    expect(await run([[429, { 'Retry-After': '40' }]])).toEqual({
      outcome: {
        kind: 'used-up',
        why: 'it has no requests left. Try again in 40 seconds',
      },
      calls: 1,
      lines: [],
      waited: 0,
    });
    for (const [window, others, seconds] of [
      ['minute', '"day";r=870;t=6000', 42],
      ['day', '"minute";r=60;t=42', 6_000],
    ]) {
      const headers = { 'X-RateLimit-Remaining': '3', RateLimit: `${others}, "${window}";r=3;t=${seconds}` };
      expect((await run([[200, headers]])).outcome).toEqual({
        kind: 'used-up',
        why: `it has 3 requests left in this ${window}, and the smoke test needs ${requestsNeeded}. Try again in ${seconds} seconds`,
      });
    }
  });

  it('gives up after exactly the time that it was given, and says why', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 600_000 }), async (patience) => {
        const { outcome, waited } = await run([503], patience);
        expect(waited).toBe(patience);
        expect(outcome).toEqual({ kind: 'not-ready', why: 'GET /pets answered 503' });
      }),
    );
    expect((await run([refused])).outcome).toEqual({
      kind: 'unreachable',
      why: 'fetch failed: getaddrinfo ENOTFOUND api.example.com',
    });
  });
});

describe('the address for the smoke test', () => {
  it('is absolute and ends in the version segment', () => {
    const right = ['https://api.example.com/v1', 'http://127.0.0.1:3000/v1/', 'https://example.com/api/v1'];
    const wrong = [
      'nowhere',
      'api.example.com/v1',
      'https://api.example.com',
      'https://api.example.com/v1/pets',
    ];
    expect([...right, ...wrong].filter(isBaseUrl)).toEqual(right);
  });
});
