import { inspect } from 'node:util';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { RequestEvent, ResponseEvent, RetryEvent } from '../../src/index.ts';
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
    const rateLimit = undefined;
    expect(events).toEqual([
      { ...request, attempt: 1 },
      { ...request, attempt: 1, status: 503, requestId: 'r-1', rateLimit, duration },
      { ...request, attempt: 1, error: expect.objectContaining({ code: 'service_unavailable' }), delay },
      { ...request, attempt: 2 },
      { ...request, attempt: 2, error: expect.objectContaining({ code: 'connection_failed' }), delay },
      { ...request, attempt: 3 },
      { ...request, attempt: 3, status: 200, requestId: 'r-2', rateLimit, duration },
    ]);
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
