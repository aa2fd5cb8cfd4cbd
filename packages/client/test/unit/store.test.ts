import { readFile } from 'node:fs/promises';
import { inspect } from 'node:util';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { knownErrorCodes } from '../../src/errors.ts';
import {
  AnimalStore,
  type AnimalStoreOptions,
  ApiError,
  ConnectionError,
  InvalidAnswerError,
  type NewPet,
  TimeoutError,
} from '../../src/index.ts';
import { version } from '../../src/version.ts';

const baseUrl = 'https://store.test/v1';
const apiKey = 'as_test_secret';
const rex = '{"id":9007199254740993,"name":"Rex","categoryId":7,"status":"available"}';

const properties = z.record(z.string(), z.unknown());

interface Sent {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string;
  readonly signal: AbortSignal;
}

type Step = (sent: Sent) => Response | Promise<Response>;

const respond =
  (status: number, body: string, headers: Record<string, string> = {}): Step =>
  () =>
    new Response(body, { status, headers });

const error = (status: number, code: string, headers: Record<string, string> = {}): Step =>
  respond(status, JSON.stringify({ code, message: 'm', status }), { 'X-Request-Id': 'r-1', ...headers });

/** A store whose service answers in these steps. Retries wait no time unless the service asks for it. */
function scripted(steps: readonly Step[], options: Partial<AnimalStoreOptions> = {}) {
  const sent: Sent[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const { url, method, headers, signal } = request;
    const call = { url, method, headers, signal: init?.signal ?? signal, body: await request.text() };
    sent.push(call);
    const step = steps[sent.length - 1];
    if (step === undefined) throw new Error('more requests than expected');
    return step(call);
  };
  return { sent, store: new AnimalStore({ baseUrl, apiKey, fetch, ...options }) };
}

const lost: Step = () => {
  throw new TypeError('fetch failed');
};

const never: Step = ({ signal }) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')));
  });

describe('A creation', () => {
  it('sends the key, exact digits and an idempotency key', async () => {
    const { store, sent } = scripted([respond(201, rex)], { baseUrl: `${baseUrl}/` });
    const pet = await store.pets.create({ name: 'Rex "1"', categoryId: 2n ** 63n - 1n });
    expect(pet).toEqual({ id: 9007199254740993n, name: 'Rex', categoryId: 7, status: 'available' });
    expect(sent[0]).toMatchObject({ url: `${baseUrl}/pets`, method: 'POST' });
    expect(sent[0]?.body).toBe(String.raw`{"name":"Rex \"1\"","categoryId":9223372036854775807}`);
    expect(sent[0]?.headers.get('Authorization')).toBe(`Bearer ${apiKey}`);
    expect(sent[0]?.headers.get('Content-Type')).toBe('application/json');
    expect(sent[0]?.headers.get('User-Agent')).toBe(`animal-store-client/${version}`);
    expect(sent[0]?.headers.get('Idempotency-Key')).toMatch(/^[\da-f-]{36}$/);
  });

  it('keeps its idempotency key through all attempts, and another creation has another', async () => {
    const unavailable = error(503, 'service_unavailable', { 'Retry-After': '0' });
    const { store, sent } = scripted([unavailable, lost, respond(201, rex), respond(201, rex)]);
    await store.pets.create({ name: 'Rex', categoryId: '7' });
    await store.pets.create({ name: 'Rex', categoryId: 7 });
    const keys = sent.map(({ headers }) => headers.get('Idempotency-Key'));
    expect(new Set(keys.slice(0, 3)).size).toBe(1);
    expect(keys[3]).not.toBe(keys[0]);
    expect(new Set(sent.slice(0, 3).map(({ body }) => body)).size).toBe(1);
  });

  it('uses the idempotency key of the caller, if it is valid', async () => {
    const { store, sent } = scripted([respond(201, rex)]);
    await store.pets.create({ name: 'Rex', categoryId: 7, status: 'sold' }, { idempotencyKey: 'order 1' });
    expect(sent[0]?.headers.get('Idempotency-Key')).toBe('order 1');
    for (const idempotencyKey of ['', 'é', 'x'.repeat(256)]) {
      await expect(store.pets.create({ name: 'Rex', categoryId: 7 }, { idempotencyKey })).rejects.toThrow(
        RangeError,
      );
    }
  });
});

describe('The body of a creation', () => {
  it('has every field of the schema of NewPet, and fields that the schema does not have yet', async () => {
    const document = z
      .object({ components: z.object({ schemas: z.object({ NewPet: z.object({ properties }) }) }) })
      .parse(parse(await readFile('docs/openapi.yaml', 'utf8')));
    const names = Object.keys(document.components.schemas.NewPet.properties);
    expect(names).toEqual(expect.arrayContaining(['name', 'categoryId']));

    const given = {
      ...Object.fromEntries(names.map((name) => [name, name])),
      categoryId: 7,
      breed: ['Boxer'],
    };
    const { store, sent } = scripted([respond(201, rex)]);
    await store.pets.create(given as unknown as NewPet);
    expect(JSON.parse(sent[0]?.body ?? '')).toEqual(given);
  });

  it('leaves out undefined fields and keeps every digit of a bigint', async () => {
    const { store, sent } = scripted([respond(201, rex)]);
    const pet = { name: 'Rex', status: undefined, categoryId: '9007199254740993', weight: 2n ** 63n - 1n };
    await store.pets.create(pet);
    expect(sent[0]?.body).toBe('{"name":"Rex","categoryId":9007199254740993,"weight":9223372036854775807}');
  });
});

describe('A listing', () => {
  it('continues across pages, newest first, and sends requests only to the base URL', async () => {
    const pets = (...ids: number[]) => JSON.stringify(ids.map((id) => ({ id, name: 'Rex', categoryId: 7 })));
    const { store, sent } = scripted([
      respond(200, pets(3, 2), {
        Link: '<https://elsewhere.test/x?limit=2&status=sold&cursor=c1>; rel="next"',
      }),
      respond(200, pets(1)),
    ]);
    const ids = [];
    for await (const pet of store.pets.list({ status: 'sold', pageSize: 2 })) ids.push(pet.id);
    expect(ids).toEqual([3, 2, 1]);
    expect(sent.map(({ url }) => url)).toEqual([
      `${baseUrl}/pets?limit=2&status=sold`,
      `${baseUrl}/pets?limit=2&status=sold&cursor=c1`,
    ]);
  });

  it('requests only the pages that are needed', async () => {
    const { store, sent } = scripted([
      respond(200, `[${rex}]`, { Link: `<${baseUrl}/pets?cursor=c1>; rel="next"` }),
    ]);
    // eslint-disable-next-line no-unreachable-loop
    for await (const pet of store.pets.list()) {
      expect(pet.name).toBe('Rex');
      break;
    }
    expect(sent.map(({ url }) => url)).toEqual([`${baseUrl}/pets?limit=100`]);
  });
});

describe('Integers', () => {
  it('are returned in the mode of the store, also in the types', async () => {
    const auto = await scripted([respond(200, rex)]).store.pets.get(1);
    expectTypeOf(auto.id).toEqualTypeOf<number | bigint>();
    expect([auto.id, auto.categoryId]).toEqual([9007199254740993n, 7]);

    const fetch = async () => new Response(rex);
    const bigints = await new AnimalStore({ baseUrl, apiKey, fetch, integers: 'bigint' }).pets.get(1n);
    expectTypeOf(bigints.id).toEqualTypeOf<bigint>();
    expect([bigints.id, bigints.categoryId]).toEqual([9007199254740993n, 7n]);

    const strings = await new AnimalStore({ baseUrl, apiKey, fetch, integers: 'string' }).pets.get('1');
    expectTypeOf(strings.id).toEqualTypeOf<string>();
    expect([strings.id, strings.categoryId]).toEqual(['9007199254740993', '7']);
  });
});

describe('A failure', () => {
  it('has the code, the status and the request id of the answer', async () => {
    const { store } = scripted([error(404, 'pet_not_found')]);
    const failure = await store.pets.get(1).catch((caught: unknown) => caught);
    expect(failure).toBeInstanceOf(ApiError);
    expect(failure).toMatchObject({ code: 'pet_not_found', status: 404, requestId: 'r-1', message: 'm' });
  });

  it('waits as long as Retry-After says before another attempt', async () => {
    const { store, sent } = scripted([
      error(429, 'rate_limit_exceeded', { 'Retry-After': '1' }),
      respond(200, rex),
    ]);
    const start = performance.now();
    await store.pets.get(1);
    expect(performance.now() - start).toBeGreaterThanOrEqual(990);
    expect(sent).toHaveLength(2);
  });

  it('is thrown at once when the wait is longer than maxRetryDelay', async () => {
    const { store } = scripted([error(429, 'key_suspended', { 'Retry-After': '600' })]);
    await expect(store.pets.get(1)).rejects.toMatchObject({ code: 'key_suspended', retryAfter: 600_000 });
  });

  it('is thrown with the last cause after the last attempt', async () => {
    const { store, sent } = scripted([lost, lost, lost], { maxRetries: 2, maxRetryDelay: 1 });
    await expect(store.pets.get(1)).rejects.toBeInstanceOf(ConnectionError);
    expect(sent).toHaveLength(3);
  });

  it('has its status also without a readable body', async () => {
    const { store } = scripted([respond(502, '<html>')]);
    await expect(store.pets.get(1)).rejects.toMatchObject({ code: 'unknown_error', status: 502 });
  });

  it.each(['{', '[]', '{"id":1}', '{"id":1.5,"name":"Rex","categoryId":7}'])(
    'is thrown for a successful response with %s',
    async (text) => {
      const { store } = scripted([respond(200, text)]);
      await expect(store.pets.get(1)).rejects.toBeInstanceOf(InvalidAnswerError);
    },
  );

  it('has every error code of the OpenAPI document', async () => {
    const document: unknown = parse(await readFile('docs/openapi.yaml', 'utf8'));
    expect(document).toHaveProperty(
      'components.schemas.Error.properties.code.x-extensible-enum',
      expect.arrayContaining([...knownErrorCodes]),
    );
    expect(JSON.stringify(document)).toContain('x-extensible-enum');
    expect(document).toHaveProperty(
      'components.schemas.Error.properties.code.x-extensible-enum.length',
      knownErrorCodes.length,
    );
  });
});

describe('A call', () => {
  it('ends an attempt at its time-out and tries again', async () => {
    const { store, sent } = scripted([never, respond(200, rex)], { maxRetryDelay: 1 });
    expect(await store.pets.get(1, { timeout: 20 })).toMatchObject({ name: 'Rex' });
    expect(sent).toHaveLength(2);
    const { store: stuck } = scripted([never], { maxRetries: 0, timeout: 20 });
    await expect(stuck.pets.get(1)).rejects.toBeInstanceOf(TimeoutError);
  });

  it('ends with the reason of its signal: before, during and between attempts', async () => {
    const reason = new Error('no longer needed');
    const { store, sent } = scripted([never]);
    await expect(store.pets.get(1, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(sent).toHaveLength(0);

    const during = new AbortController();
    const call = store.pets.get(1, { signal: during.signal });
    await expect.poll(() => sent.length).toBe(1);
    during.abort(reason);
    await expect(call).rejects.toBe(reason);

    const { store: waiting, sent: attempts } = scripted([error(503, 'x', { 'Retry-After': '50' })]);
    const between = new AbortController();
    const retry = waiting.pets.get(1, { signal: between.signal });
    await expect.poll(() => attempts.length).toBe(1);
    between.abort(reason);
    await expect(retry).rejects.toBe(reason);
  });
});

describe('The API key', () => {
  it('does not appear in errors or in a printed store', async () => {
    const { store } = scripted([lost, error(401, 'unauthorized')], { maxRetries: 0 });
    const failed = async () =>
      inspect(await store.pets.get(1).catch((thrown: unknown) => thrown), { showHidden: true });
    const printed = `${await failed()} ${await failed()} ${inspect(store, { depth: 9, showHidden: true })}`;
    expect(printed).toContain('unauthorized');
    expect(`${printed} ${JSON.stringify(store)}`).not.toContain(apiKey);
  });

  it('is rejected when it is not valid in a header, and the message does not contain it', () => {
    for (const bad of ['', `${apiKey}\n`, `${apiKey} x`]) {
      expect(() => new AnimalStore({ baseUrl, apiKey: bad })).toThrow(
        'apiKey must be printable ASCII without spaces.',
      );
    }
  });

  it.each(['', 'store.test/v1', 'ftp://store.test', 'https://store.test/v1?x=1'])(
    'needs a base URL, not "%s"',
    (bad) => {
      expect(() => new AnimalStore({ baseUrl: bad, apiKey })).toThrow(/^baseUrl must be /);
    },
  );
});
