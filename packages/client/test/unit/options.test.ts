import { readFile } from 'node:fs/promises';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { AnimalStore, type AnimalStoreOptions, type RequestOptions } from '../../src/index.ts';
import { apiKey, baseUrl, respond, rex, scripted } from '../support.ts';

afterEach(() => vi.unstubAllEnvs());

describe('The API key and the base address', () => {
  it('come from the environment unless they are given', async () => {
    vi.stubEnv('ANIMAL_STORE_API_KEY', `${apiKey}\n`);
    vi.stubEnv('ANIMAL_STORE_BASE_URL', baseUrl);
    const urls: unknown[] = [];
    const fetch: typeof globalThis.fetch = async (url, init) => {
      urls.push(url, new Headers(init?.headers).get('Authorization'));
      return new Response(rex);
    };
    await new AnimalStore({ fetch }).pets.get(1);
    await new AnimalStore({ fetch, apiKey: 'other', baseUrl: new URL('http://other.test/v1/') }).pets.get(1);
    expect(urls).toEqual([
      `${baseUrl}/pets/1`,
      `Bearer ${apiKey}`,
      'http://other.test/v1/pets/1',
      'Bearer other',
    ]);
  });

  it.each([undefined, '', ' '])('are needed: %j in the environment is missing', (value) => {
    vi.stubEnv('ANIMAL_STORE_API_KEY', value);
    vi.stubEnv('ANIMAL_STORE_BASE_URL', value);
    expect(() => new AnimalStore({ baseUrl, apiKey: undefined })).toThrow(
      new TypeError('apiKey is missing. Pass it, or set ANIMAL_STORE_API_KEY.'),
    );
    expect(() => new AnimalStore({ apiKey })).toThrow(
      new TypeError('baseUrl is missing. Pass it, or set ANIMAL_STORE_BASE_URL.'),
    );
  });

  it('are given where the runtime has no environment', () => {
    vi.stubGlobal('process', undefined);
    try {
      expect(() => new AnimalStore({ baseUrl })).toThrow(/^apiKey is missing/);
      expect(() => new AnimalStore({ baseUrl, apiKey })).not.toThrow();
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it('are checked, and the message does not contain the key', () => {
    for (const absent of [undefined, null, ''])
      expect(() => new AnimalStore({ baseUrl, apiKey: absent as never })).toThrow(
        /^apiKey is missing\. Pass it, or set /,
      );
    for (const absent of [undefined, null, ''])
      expect(() => new AnimalStore({ apiKey, baseUrl: absent as never })).toThrow(
        /^baseUrl is missing\. Pass it, or set /,
      );
    for (const bad of [' ', `${apiKey}\n`, `${apiKey} x`]) {
      expect(() => new AnimalStore({ baseUrl, apiKey: bad })).toThrow(
        'apiKey must be printable ASCII without spaces.',
      );
    }
  });

  it.each([
    ' ',
    'store.test/v1',
    'ftp://store.test',
    'https://store.test/v1?x=1',
    'https://store.test/v1#x',
    'https://user:password@store.test/v1',
  ])('cannot be "%s"', (bad) => {
    expect(() => new AnimalStore({ baseUrl: bad, apiKey })).toThrow(/^baseUrl must be [^@]+$/);
  });
});

describe('An argument that is not valid is a TypeError that names it', () => {
  const cases = (name: string, ...values: unknown[]) => values.map((value) => ({ name, value }));

  it.each([
    ...cases('apiKey', 1, ' ', 'a b'),
    ...cases('baseUrl', 1, ' '),
    ...cases('timeout', -1, 0, Number.NaN, Infinity, 2 ** 31, '1000', null),
    ...cases('maxRetries', -1, 0.5, Infinity, '3', null),
    ...cases('maxRetryDelay', -1, Number.NaN, Infinity, '3', null),
    ...cases('fetch', 'fetch', null),
    ...cases('onRequest', 'log'),
    ...cases('onResponse', {}),
    ...cases('onRetry', 1),
    ...cases(
      'defaultHeaders',
      { 'a b': 'c' },
      { a: 'b\nc' },
      { authorization: 'Bearer x' },
      { 'idempotency-key': 'k' },
    ),
  ])('$name: $value of a store', ({ name, value }) => {
    const create = () => new AnimalStore({ baseUrl, apiKey, [name]: value });
    expect(create).toThrow(TypeError);
    expect(create).toThrow(new RegExp(`^${name} must `));
  });

  it.each([...cases('timeout', -1), ...cases('maxRetries', -1), ...cases('headers', { Authorization: 'x' })])(
    '$name: $value of a call',
    async ({ name, value }) => {
      const { store, sent } = scripted([]);
      const calls = [
        store.pets.get(1, { [name]: value }),
        store.pets.list({}, { [name]: value }),
        store.pets.create({ name: 'Rex', categoryId: 7 }, { [name]: value }),
      ];
      for (const call of calls) {
        await expect(call).rejects.toThrow(TypeError);
        await expect(call).rejects.toThrow(new RegExp(`^${name} must `));
      }
      expect(sent).toEqual([]);
    },
  );

  it.each([0, -1, 101, 1.5, Number.NaN, '20', null])('limit: %s of a list', async (limit) => {
    const { store } = scripted([]);
    const list = store.pets.list({ limit: limit as number });
    await expect(list).rejects.toThrow(TypeError);
    const got = typeof limit === 'string' ? JSON.stringify(limit) : String(limit);
    await expect(list).rejects.toThrow(`limit must be a whole number from 1 to 100 (got ${got}).`);
  });

  it('also one that does not exist', async () => {
    const { store } = scripted([]);
    const misspelled: object = { baseURL: 'x' };
    expect(() => new AnimalStore({ baseUrl, apiKey, ...misspelled })).toThrow(
      new TypeError('AnimalStore has no option "baseURL".'),
    );
    await expect(store.pets.list(misspelled)).rejects.toThrow(
      new TypeError('pets.list has no option "baseURL".'),
    );
    await expect(store.pets.get(1, misspelled)).rejects.toThrow(
      new TypeError('pets.get has no option "baseURL".'),
    );
    await expect(store.pets.create({ name: 'Rex', categoryId: 7 }, misspelled)).rejects.toThrow(
      new TypeError('pets.create has no option "baseURL".'),
    );
  });

  it.each([
    [undefined, 'pet is required.'],
    [null, 'pet must be an object (got null).'],
    [[], 'pet must be an object (got an array).'],
    ['Rex', 'pet must be an object (got a string).'],
    [{}, 'name is required, categoryId is required.'],
    [{ name: 'Rex' }, 'categoryId is required.'],
    [{ name: 'Rex', categoryId: 1.5 }, 'categoryId must be a whole number'],
  ])('as the animal %j', async (pet, message) => {
    const { store, sent } = scripted([]);
    await expect(store.pets.create(pet as never)).rejects.toThrow(TypeError);
    await expect(store.pets.create(pet as never)).rejects.toThrow(message);
    expect(sent).toEqual([]);
  });

  it('as null or a string in place of an object, and as an id that is not given', async () => {
    const { store, sent } = scripted([]);
    const text = apiKey as never;
    expect(() => new AnimalStore(text)).toThrow(new TypeError('options must be an object (got a string).'));
    const calls: [Promise<unknown>, string][] = [
      [store.pets.list(null as never), 'query must be an object (got null).'],
      [store.pets.list({}, null as never), 'options must be an object (got null).'],
      [store.pets.get(1, null as never), 'options must be an object (got null).'],
      [store.pets.get(undefined as never), 'id is required.'],
      [store.pets.create({ name: 'Rex', categoryId: 7 }, text), 'options must be an object (got a string).'],
      [store.request('GET', '/pets', null as never), 'options must be an object (got null).'],
    ];
    for (const [call, message] of calls) await expect(call).rejects.toThrow(new TypeError(message));
    expect(sent).toEqual([]);
  });

  it('and its value is not repeated in the message when it can be a secret', () => {
    const defaultHeaders = { 'X-Token': 'secret\nsecret' };
    expect(() => new AnimalStore({ baseUrl, apiKey, defaultHeaders })).toThrow(/^(?!.*secret)/s);
  });
});

describe('In a browser', () => {
  it('a store is not created, unless the caller knows better', () => {
    vi.stubGlobal('window', { document: {} });
    onTestFinished(() => void vi.unstubAllGlobals());
    const create = (options: AnimalStoreOptions = {}) => new AnimalStore({ baseUrl, apiKey, ...options });
    expect(create).toThrow(
      /^AnimalStore does not run in a browser: .*API key.*CORS.*dangerouslyAllowBrowser: true/,
    );
    expect(() => create({ dangerouslyAllowBrowser: true })).not.toThrow();
    // Deno 1 has a window without a document.
    vi.stubGlobal('window', {});
    expect(() => create()).not.toThrow();
  });
});

describe('A store with other options', () => {
  it('keeps those that are not given, and leaves the first store as it was', async () => {
    vi.stubEnv('ANIMAL_STORE_API_KEY', apiKey);
    const sent: Headers[] = [];
    const fetch: typeof globalThis.fetch = async (_url, init) => {
      sent.push(new Headers(init?.headers));
      return new Response(rex);
    };
    const first = new AnimalStore({ baseUrl, fetch, defaultHeaders: { 'X-A': 'a' } });
    vi.stubEnv('ANIMAL_STORE_API_KEY', 'changed');
    const second = first.withOptions({ timeout: 1_000, defaultHeaders: undefined });
    const third = second.withOptions({ apiKey: 'other', defaultHeaders: {} });
    for (const store of [first, second, third]) await store.pets.get(1);
    expect(sent.map((headers) => [headers.get('Authorization'), headers.get('X-A')])).toEqual([
      [`Bearer ${apiKey}`, 'a'],
      [`Bearer ${apiKey}`, 'a'],
      ['Bearer other', null],
    ]);
    expect(() => first.withOptions({ timeout: -1 })).toThrow(/^timeout must /);
    expect(inspect(third, { depth: 9, showHidden: true })).not.toContain('other');
  });
});

describe('The table of options in the README', () => {
  // The compiler forces a new option into this list.
  const options = {
    apiKey: true,
    baseUrl: true,
    timeout: true,
    maxRetries: true,
    maxRetryDelay: true,
    defaultHeaders: true,
    headers: true,
    dangerouslyAllowBrowser: true,
    fetch: true,
    onRequest: true,
    onResponse: true,
    onRetry: true,
    signal: true,
    idempotencyKey: true,
    query: true,
    body: true,
  } satisfies Record<keyof AnimalStoreOptions | keyof RequestOptions, true>;

  it.each(Object.keys(options))('has %s', async (name) => {
    const readme = await readFile('packages/client/README.md', 'utf8');
    expect(readme.split('\n## Options\n')[1]).toMatch(new RegExp(`^\\|.* \`${name}\`[ ,].*\\|$`, 'm'));
  });
});

describe('Headers', () => {
  it('of the call replace those of the store, and those those of the client', async () => {
    const { store, sent } = scripted([respond(200, rex)], {
      defaultHeaders: { 'user-agent': 'shop/2', 'X-A': 'store', 'X-B': 'store' },
    });
    await store.pets.get(1, { headers: { 'x-b': 'call' } });
    expect(Object.fromEntries(sent[0]?.headers ?? [])).toEqual({
      accept: 'application/json',
      authorization: `Bearer ${apiKey}`,
      'user-agent': 'shop/2',
      'x-a': 'store',
      'x-b': 'call',
    });
  });
});
