import { describe, expect, expectTypeOf, it } from 'vitest';
import { apiKey, baseUrl, error, lost, respond, scripted } from '../support.ts';

const ok = respond(200, '{}');

describe('A request that the client has no method for', () => {
  it('returns the JSON of the answer with every digit, and its response', async () => {
    const body = '{"id":9007199254740993,"tags":["a",1]}';
    const { store, sent } = scripted([respond(200, body, { 'X-Request-Id': 'r-1' })]);
    const { data, requestId } = await store.request('GET', '/orders/1').withResponse();
    expectTypeOf(data).toEqualTypeOf<unknown>();
    expect(data).toEqual({ id: '9007199254740993', tags: ['a', 1] });
    expect(requestId).toBe('r-1');
    expect(sent[0]).toMatchObject({ method: 'GET', url: `${baseUrl}/orders/1`, body: '' });
    expect(sent[0]?.headers.get('Authorization')).toBe(`Bearer ${apiKey}`);
    expect(sent[0]?.headers.has('Content-Type')).toBe(false);
  });

  it('sends a query, a body with every digit, headers and an idempotency key', async () => {
    const { store, sent } = scripted([ok, ok]);
    const headers = { 'X-Trace': 't' };
    await store.request('GET', '/orders?a=1', { query: { b: 'x &', c: 2n ** 60n, d: undefined }, headers });
    await store.request('POST', '/orders', {
      body: { pets: [{ id: 2n ** 60n, note: undefined }, null], at: new Date(0) },
      idempotencyKey: 'order 1',
    });
    expect(sent[0]?.url).toBe(`${baseUrl}/orders?a=1&b=x+%26&c=1152921504606846976`);
    expect(sent[0]?.headers.get('X-Trace')).toBe('t');
    expect(sent[1]?.body).toBe('{"pets":[{"id":1152921504606846976},null],"at":"1970-01-01T00:00:00.000Z"}');
    expect(sent[1]?.headers.get('Content-Type')).toBe('application/json');
    expect(sent[1]?.headers.get('Idempotency-Key')).toBe('order 1');
  });

  it.each([
    [204, 'DELETE'],
    [200, 'HEAD'],
    [202, 'POST'],
  ] as const)('returns undefined for an answer without a body: %d to %s', async (status, method) => {
    const { store } = scripted([() => new Response(null, { status })]);
    const { data, response } = await store.request(method, '/pets/1').withResponse();
    expect(data).toBeUndefined();
    expect(response.status).toBe(status);
  });

  it.each(['POST', 'PATCH'] as const)('repeats a %s only if that is safe', async (method) => {
    const unavailable = error(503, 'service_unavailable');
    const options = { maxRetryDelay: 1 };
    for (const step of [lost, unavailable]) {
      const { store, sent } = scripted([step], options);
      await expect(store.request(method, '/orders')).rejects.toMatchObject({ attempts: 1 });
      expect(sent).toHaveLength(1);
    }
    const limited = error(429, 'rate_limit_exceeded');
    await scripted([limited, ok], options).store.request(method, '/orders');
    await scripted([lost, unavailable, ok], options).store.request(method, '/orders', {
      idempotencyKey: 'k',
    });
  });

  it.each(['GET', 'PUT', 'DELETE'] as const)('repeats a %s', async (method) => {
    const { store, sent } = scripted([lost, error(503, 'x'), ok], { maxRetryDelay: 1 });
    await store.request(method, '/orders/1');
    expect(sent).toHaveLength(3);
  });

  it.each(['pets', '@other.test/', '', '/../admin', '/%2e%2E/admin', '/a/../../v2', '/\\..\\..\\x', '/..'])(
    'sends nothing, and no key, to the path %j',
    async (path) => {
      const { store, sent } = scripted([]);
      await expect(store.request('GET', path)).rejects.toThrow(
        `path must start with "/" and stay below ${baseUrl}/ (got ${JSON.stringify(path)}).`,
      );
      expect(sent).toEqual([]);
    },
  );

  it('says what is wrong with its arguments', async () => {
    const { store } = scripted([]);
    const failures: [Promise<unknown>, string][] = [
      [store.request('get' as never, '/pets'), 'method must be GET, HEAD, POST, PUT, PATCH, DELETE.'],
      [store.request('GET', '/pets', { body: {} }), 'body must not be given with GET: use the option query.'],
      [
        store.request('POST', '/pets', { idempotencyKey: '' }),
        'idempotencyKey must be 1 to 255 printable ASCII',
      ],
      [store.request('GET', '/pets', { params: {} } as never), 'request has no option "params".'],
    ];
    for (const [failure, message] of failures) {
      await expect(failure).rejects.toThrow(TypeError);
      await expect(failure).rejects.toThrow(message);
    }
  });
});
