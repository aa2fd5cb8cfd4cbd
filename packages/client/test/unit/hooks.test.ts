import { inspect } from 'node:util';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ApiError, RequestEvent, ResponseEvent, RetryEvent } from '../../src/index.ts';
import { apiKey, baseUrl, error, lost, respond, rex, scripted } from '../support.ts';

afterEach(() => vi.unstubAllEnvs());

describe('The environment variable ANIMAL_STORE_LOG', () => {
  async function printed(variable: string | undefined) {
    vi.stubEnv('ANIMAL_STORE_LOG', variable);
    const print = vi.spyOn(console, 'error').mockReturnValue();
    onTestFinished(() => print.mockRestore());
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const full = error(429, 'rate_limit_exceeded', { 'Retry-After': '43' });
    const { store } = scripted([full, respond(200, '[]')]);
    const call = store.pets.list({ limit: 1 });
    await vi.runAllTimersAsync();
    await call;
    return print.mock.calls;
  }

  it('prints each wait for another attempt', async () => {
    expect(await printed('retries')).toEqual([
      [
        expect.stringMatching(
          /^animal-store-client: GET https:\/\/store\.test\/v1\/pets\?limit=1: rate_limit_exceeded\. Attempt 2 in (?:4[3-9]|5[01])\.\d s\.$/,
        ),
      ],
    ]);
  });

  it('is off by default, and where the runtime does not allow to read it', async () => {
    expect(await printed(undefined)).toEqual([]);
    const denied = new Proxy({}, { get: () => expect.unreachable() });
    vi.stubGlobal('process', { ...process, env: denied });
    onTestFinished(() => void vi.unstubAllGlobals());
    expect(await printed(undefined)).toEqual([]);
  });
});

describe('Hooks', () => {
  function watched(steps: Parameters<typeof scripted>[0]) {
    const events: (RequestEvent | ResponseEvent | RetryEvent)[] = [];
    const hook = (event: RequestEvent) => void events.push(event);
    const { store } = scripted(steps, { maxRetryDelay: 1, onRequest: hook, onResponse: hook, onRetry: hook });
    return { store, events };
  }

  it('see each request, response and retry', async () => {
    const unavailable = error(503, 'service_unavailable');
    const { store, events } = watched([unavailable, lost, respond(200, rex, { 'X-Request-Id': 'r-2' })]);
    await store.pets.get(1);
    const request = { method: 'GET', url: `${baseUrl}/pets/1` };
    // Whole milliseconds.
    const delay = expect.toSatisfy(Number.isInteger);
    const duration = expect.any(Number);
    const [rateLimit, rateLimits] = [undefined, undefined];
    expect(events).toEqual([
      { ...request, attempt: 1 },
      { ...request, attempt: 1, status: 503, requestId: 'r-1', rateLimit, rateLimits, duration },
      { ...request, attempt: 1, error: expect.objectContaining({ code: 'service_unavailable' }), delay },
      { ...request, attempt: 2 },
      { ...request, attempt: 2, error: expect.objectContaining({ code: 'connection_failed' }), delay },
      { ...request, attempt: 3 },
      { ...request, attempt: 3, status: 200, requestId: 'r-2', rateLimit, rateLimits, duration },
    ]);
  });

  it('see what is left of the minute and of the day', async () => {
    const limits = {
      Date: 'Thu, 01 Jan 2026 00:00:18 GMT',
      'RateLimit-Policy': '"minute";q=60;w=60, "day";q=1000;w=86400',
      RateLimit: '"minute";r=59;t=42, "day";r=7;t=86382',
    };
    const { store, events } = watched([respond(200, rex, limits)]);
    const { rateLimits } = await store.pets.get(1).withResponse();
    expect([rateLimits?.minute.remaining, rateLimits?.day.remaining]).toEqual([59, 7]);
    expect(events[1]).toMatchObject({ rateLimits });
  });

  it.each(['throws', 'rejects'])(
    'only watch: one that %s changes no result, and its error is printed',
    async (how) => {
      const print = vi.spyOn(console, 'error').mockReturnValue();
      onTestFinished(() => print.mockRestore());
      const thrown = new Error('hook');
      const hook = () => {
        if (how === 'throws') throw thrown;
        return Promise.reject(thrown);
      };
      const hooks = { onRequest: hook, onResponse: hook, onRetry: hook };
      const { store, sent } = scripted([error(503, 'x'), respond(201, rex)], { maxRetryDelay: 1, ...hooks });
      expect(await store.pets.create({ name: 'Rex', categoryId: 7 })).toMatchObject({ name: 'Rex' });
      expect(sent).toHaveLength(2);
      const names = ['onRequest', 'onResponse', 'onRetry', 'onRequest', 'onResponse'];
      expect(print.mock.calls).toEqual(names.map((name) => [`animal-store-client: ${name} failed:`, thrown]));
    },
  );

  it('print in a few lines, as an error does, which still has its headers', async () => {
    const headers = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [`X-Header-${index}`, 'x'.repeat(50)]),
    );
    const full = error(429, 'rate_limit_exceeded', { ...headers, 'Retry-After': '0' });
    const { store, events } = watched([full, full]);
    const failure = await store.pets.list({ limit: 1 }, { maxRetries: 1 }).catch((thrown: unknown) => thrown);
    const retry = events.find((event) => 'delay' in event)!;
    const linesOf = (value: unknown) => inspect(value).split('\n');
    expect(linesOf(retry).length).toBeLessThanOrEqual(8);
    expect(linesOf(failure).filter((line) => !line.startsWith('    at ')).length).toBeLessThanOrEqual(2);
    // The frames are those of the caller.
    expect(linesOf(failure).filter((line) => line.includes('client/src'))).toHaveLength(1);
    for (const printed of [inspect(retry), inspect(failure)])
      for (const part of [
        'RateLimitError: m',
        "code: 'rate_limit_exceeded'",
        'status: 429',
        "requestId: 'r-1'",
        'retryAfter: 0',
        '/pets?limit=1',
      ])
        expect(printed).toContain(part);
    for (const thrown of [failure, retry.error] as ApiError[]) {
      expect(thrown.headers.get('X-Header-19')).toBe('x'.repeat(50));
      expect(thrown).toMatchObject({
        status: 429,
        retryAfter: 0,
        method: 'GET',
        code: 'rate_limit_exceeded',
      });
      expect(thrown.stack).toContain('RateLimitError: m');
    }
    // What causes an error is printed on the same line, and so is what a program adds to it.
    const { store: other, events: retried } = watched([lost, lost]);
    const cut = await other.pets.list({}, { maxRetries: 1 }).catch((thrown: unknown) => thrown);
    expect(inspect(Object.assign(cut as Error, { task: 7 }))).toMatch(
      /ECONNRESET[^]*task: 7, cause: 'TypeError: fetch failed' \}$/,
    );
    expect(linesOf(cut).filter((line) => !line.startsWith('    at '))).toHaveLength(1);
    expect(linesOf(retried.find((event) => 'delay' in event)).length).toBeLessThanOrEqual(8);
    const reason = { because: 'it is late' };
    const aborted = await other.pets
      .list({}, { signal: AbortSignal.abort(reason) })
      .catch((thrown: unknown) => thrown);
    expect(inspect(aborted)).toContain("cause: { because: 'it is late' }");
  });

  it('never see the API key, nor does anything else that is printed', async () => {
    const { store, events } = watched([lost, error(503, 'x'), respond(201, rex), error(401, 'unauthorized')]);
    const created = await store.pets.create({ name: 'Rex', categoryId: 7 }).withResponse();
    const failure = await store.pets.list().catch((thrown: unknown) => thrown);
    const everything = [events, created, failure, store, store.pets];
    const printed = everything.map((value) => inspect(value, { depth: 20, showHidden: true })).join('\n');
    expect(printed).toContain('AuthenticationError');
    expect(printed + JSON.stringify(everything)).not.toContain(apiKey);
  });
});
