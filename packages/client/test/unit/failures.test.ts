import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  AnimalStore,
  AnimalStoreError,
  ApiError,
  AuthenticationError,
  BadRequestError,
  ConnectionError,
  InternalServerError,
  InvalidAnswerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  ServiceUnavailableError,
  UnprocessableEntityError,
} from '../../src/index.ts';
import { apiKey, baseUrl, error, lost, never, respond, rex, scripted } from '../support.ts';

const caught = (promise: Promise<unknown>) => promise.catch((thrown: unknown) => thrown);

/** A server on this machine. */
async function listening(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = async () => {
    server.close();
    await once(server, 'close');
  };
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop };
}

describe('An answer with an error status', () => {
  it.each([
    [400, BadRequestError],
    [401, AuthenticationError],
    [403, PermissionDeniedError],
    [404, NotFoundError],
    [405, ApiError],
    [413, ApiError],
    [415, ApiError],
    [422, UnprocessableEntityError],
    [429, RateLimitError],
    [500, InternalServerError],
    [501, InternalServerError],
    [502, ServiceUnavailableError],
    [503, ServiceUnavailableError],
    [504, ServiceUnavailableError],
  ])('%d has a class', async (status, StatusError) => {
    const { store } = scripted([error(status, 'some_code')], { maxRetries: 0 });
    const failure = await caught(store.pets.get(1));
    expect(failure).toMatchObject({ name: StatusError.name, status, code: 'some_code' });
    for (const ofClass of [StatusError, ApiError, AnimalStoreError, Error])
      expect(failure).toBeInstanceOf(ofClass);
  });

  it('has its message, headers, request ID and the wait it asks for', async () => {
    const { store } = scripted([
      error(429, 'key_suspended', { 'Retry-After': '600', 'X-RateLimit-Limit': '60' }),
    ]);
    const failure = await caught(store.pets.get(1));
    expect(failure).toMatchObject({ message: 'm', requestId: 'r-1', retryAfter: 600_000 });
    expect(failure).toHaveProperty('headers', expect.any(Headers));
    expect((failure as ApiError).headers.get('X-RateLimit-Limit')).toBe('60');
  });

  it.each(['<html>', '', '{}', '{"message":1}', 'null'])('and the body %s has its status', async (body) => {
    const { store } = scripted([respond(502, body)], { maxRetries: 0 });
    await expect(store.pets.get(1)).rejects.toMatchObject({
      code: 'unknown_error',
      status: 502,
      message: 'The answer has status 502 and no error of the service.',
    });
  });

  it.each([403, 404, 405])(
    '%d that is not from the service says to check the base address',
    async (status) => {
      const { store } = scripted([respond(status, '{"message":"Missing Authentication Token"}')]);
      await expect(store.pets.get(1)).rejects.toMatchObject({
        status,
        code: 'unknown_error',
        message:
          `The answer has status ${status} and no error of the service ("Missing Authentication Token"). ` +
          `Check the base address ${baseUrl}: it ends in the version, such as /v1.`,
      });
    },
  );

  it('404 for a path that this client does not send says so too', async () => {
    const { store } = scripted([error(404, 'route_not_found')]);
    await expect(store.pets.get(1)).rejects.toMatchObject({
      code: 'route_not_found',
      message: `m Check the base address ${baseUrl}: it ends in the version, such as /v1.`,
    });
  });

  it.each([
    [404, 'pet_not_found'],
    [405, 'method_not_allowed'],
  ])('%d %s of an address that ends in /pets says so, too', async (status, code) => {
    const list = `${baseUrl}/pets`;
    const { store } = scripted([error(status, code)], { baseUrl: list });
    await expect(store.pets.list()).rejects.toMatchObject({
      code,
      message: `m Check the base address ${list}: it ends in the version, such as /v1.`,
    });
    await expect(scripted([error(status, code)]).store.pets.get(1)).rejects.toMatchObject({ message: 'm' });
  });

  it('413 in the words of API Gateway has them', async () => {
    const { store } = scripted([respond(413, '{"message":"Request Too Long"}')]);
    await expect(store.pets.get(1)).rejects.toThrow(
      'The answer has status 413 and no error of the service ("Request Too Long").',
    );
  });
});

describe('A failed call', () => {
  it('says which request was sent, and how often', async () => {
    const { store } = scripted([lost, error(503, 'x'), error(404, 'pet_not_found')], { maxRetryDelay: 1 });
    await expect(store.pets.get(1)).rejects.toMatchObject({
      method: 'GET',
      url: `${baseUrl}/pets/1`,
      attempts: 3,
    });
    for (const step of [lost, never, respond(200, '{}'), respond(200, '<html>')]) {
      const { store: other } = scripted([step], { maxRetries: 0, timeout: 20 });
      await expect(other.pets.list({ limit: 1 })).rejects.toMatchObject({
        method: 'GET',
        url: `${baseUrl}/pets?limit=1`,
        attempts: 1,
      });
    }
  });

  const { store } = scripted(Array.from({ length: 20 }, () => error(404, 'pet_not_found')));
  const afterOnePage = () => {
    const next = { Link: '<http://h?cursor=c>; rel="next"' };
    return scripted([respond(200, `[${rex}]`, next), error(404, 'pet_not_found')]).store.pets.list();
  };
  const ignore = (..._results: unknown[]) => {};

  it.each<[string, () => Promise<unknown>]>([
    ['awaited', async () => ignore(await store.pets.get(1))],
    ['created', async () => ignore(await store.pets.create({ name: 'Rex', categoryId: 7 }))],
    ['with its response', async () => ignore(await store.pets.get(1).withResponse())],
    ['of no method', async () => ignore(await store.request('GET', '/pets'))],
    [
      'iterated from the first page',
      async () => {
        for await (const pet of store.pets.list()) ignore(pet);
      },
    ],
    [
      'iterated to the second page',
      async () => {
        for await (const pet of afterOnePage()) ignore(pet);
      },
    ],
    [
      'iterated from a page on',
      async () => {
        for await (const pet of await afterOnePage()) ignore(pet);
      },
    ],
    [
      'iterated page by page',
      async () => {
        for await (const page of afterOnePage().pages()) ignore(page);
      },
    ],
    ['of the next page', async () => ignore(await (await afterOnePage()).getNextPage())],
  ])('shows the code that called, and nothing behind it: %s', async (_, call) => {
    const mine = async () => {
      await Promise.resolve();
      await call();
    };
    const failure = await caught(mine());
    expect(failure).toBeInstanceOf(NotFoundError);
    const [header, ...frames] = (failure as Error).stack!.split('\n');
    expect(header).toBe('NotFoundError: m');
    expect(frames.findIndex((frame) => frame.includes('failures.test.ts'))).toBeGreaterThan(-1);
    expect(frames.findIndex((frame) => frame.includes('failures.test.ts'))).toBeLessThan(4);
    expect(frames.join('\n')).toMatch(/ mine /);
    expect(frames.join('\n')).not.toContain('transport.ts');
  });

  it('keeps its own stack where the runtime has no other', async () => {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    onTestFinished(() => void (Error.stackTraceLimit = limit));
    const failure = await caught(store.pets.get(1));
    expect((failure as Error).stack).toContain('Error: m');
  });
});

describe('A redirect', () => {
  it.each([301, 302, 307, 308])('%d is reported, neither followed nor repeated', async (status) => {
    const paths: (string | undefined)[] = [];
    const { origin, stop } = await listening(({ url }, response) => {
      paths.push(url);
      response.writeHead(status, { Location: 'https://elsewhere.test/' }).end();
    });
    onTestFinished(stop);
    const failure = await caught(new AnimalStore({ baseUrl: origin, apiKey }).pets.get(1));
    expect(failure).toBeInstanceOf(ApiError);
    expect(failure).toMatchObject({
      code: 'unexpected_redirect',
      status,
      message:
        'The answer is a redirect to https://elsewhere.test/. ' +
        `Check the base address ${origin}: it ends in the version, such as /v1.`,
    });
    expect(paths).toEqual(['/pets/1']);
  });

  it('that a browser hides is reported too', async () => {
    const hidden = Object.defineProperty(Response.error(), 'type', { value: 'opaqueredirect' });
    const { store, sent } = scripted([() => hidden]);
    await expect(store.pets.get(1)).rejects.toMatchObject({ code: 'unexpected_redirect' });
    expect(sent).toHaveLength(1);
  });
});

describe('A failed connection', () => {
  it('says why, and which address', async () => {
    const { origin, stop } = await listening(() => {});
    await stop();
    const store = new AnimalStore({ baseUrl: `${origin}/v1`, apiKey, maxRetries: 0 });
    const failure = await caught(store.pets.get(1));
    expect(failure).toBeInstanceOf(ConnectionError);
    const address = origin.replace('http://', '');
    expect(failure).toMatchObject({
      code: 'connection_failed',
      message: `No complete answer arrived from ${origin}/v1 (connect ECONNREFUSED ${address}).`,
    });
    expect(failure).toHaveProperty('cause.cause.code', 'ECONNREFUSED');
  });

  const withCause = (cause: unknown) => new TypeError('fetch failed', { cause });
  const coded = (code: string, message: string) => Object.assign(new Error(message), { code });
  it.each([
    [
      'every address of the host',
      withCause(new AggregateError([coded('A', 'A ::1'), coded('B', 'B 1')])),
      ' (A ::1, B 1)',
    ],
    [
      'a code that the message lacks',
      withCause(coded('UND_ERR_SOCKET', 'other side closed')),
      ' (UND_ERR_SOCKET other side closed)',
    ],
    ['a code without message', withCause(coded('ECONNRESET', '')), ' (ECONNRESET)'],
    ['a message without code', new TypeError('Failed to fetch'), ' (Failed to fetch)'],
    ['nothing known', 'lost', ''],
  ])('says %s', async (_, thrown, reason) => {
    const fetch = () => Promise.reject(thrown);
    const { store } = scripted([], { fetch, maxRetries: 0 });
    await expect(store.pets.get(1)).rejects.toThrow(`No complete answer arrived from ${baseUrl}${reason}.`);
  });

  it('says in a browser that the service sends no CORS headers, unless the page has the same origin', async () => {
    const messageIn = async (globals: object) => {
      for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
      onTestFinished(() => void vi.unstubAllGlobals());
      const { store } = scripted([lost], { maxRetries: 0, dangerouslyAllowBrowser: true });
      return caught(store.pets.get(1)).then(String);
    };
    const window = { document: {} };
    const advice =
      /\. The service sends no CORS headers, so browsers refuse its answers: call it from your own server\.$/;
    expect(await messageIn({})).not.toContain('CORS');
    expect(await messageIn({ window, location: { origin: 'https://page.test' } })).toMatch(advice);
    expect(await messageIn({ window, location: { origin: 'https://store.test' } })).not.toContain('CORS');
  });
});

describe('A success that the interface rules out', () => {
  const answered = { 'X-Request-Id': 'r-1', 'content-type': 'text/plain;charset=UTF-8' };

  it.each(['[]', '{"id":1}', '{"id":1.5,"name":"Rex","categoryId":7}'])('fails: %s', async (text) => {
    const { store } = scripted([respond(200, text, answered)]);
    const failure = await caught(store.pets.get(1));
    expect(failure).toBeInstanceOf(InvalidAnswerError);
    expect(failure).not.toHaveProperty('cause');
    expect(failure).toMatchObject({ status: 200, requestId: 'r-1', headers: new Headers(answered) });
  });

  it('fails with a hint at the base address when it is not JSON, as that of a web site', async () => {
    const { store } = scripted([respond(200, '<html>')]);
    await expect(store.pets.get(1)).rejects.toThrow(
      `The answer is not valid JSON. Check the base address ${baseUrl}: it ends in the version, such as /v1.`,
    );
  });

  it('fails otherwise when it is valid, and more than this machine can read', async () => {
    const { store } = scripted([respond(200, '[9007199254740993]')]);
    vi.spyOn(JSON, 'parse').mockImplementationOnce(() => {
      throw new RangeError('Maximum call stack size exceeded');
    });
    onTestFinished(() => void vi.restoreAllMocks());
    const failure = await caught(store.pets.list());
    expect(failure).toMatchObject({
      name: 'InvalidAnswerError',
      message: 'The answer of 18 characters is too large or too deeply nested to be read.',
    });
  });

  it('of 30 MB is read', async () => {
    const name = 'x'.repeat(30_000_000);
    const { store } = scripted([respond(200, `{"id":1,"name":"${name}","categoryId":9223372036854775807}`)]);
    const pet = await store.pets.get(1);
    expect([pet.name === name, pet.categoryId]).toEqual([true, '9223372036854775807']);
  });
});
