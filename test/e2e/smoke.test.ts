import { execFile } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { newKey } from '../../functions/access/keys.ts';
import { checks } from '../../tools/smoke/checks.ts';
import { Client } from '../../tools/smoke/client.ts';
import { requestsNeeded, runChecks } from '../../tools/smoke/run.ts';
import { forwardTo } from '../support/forwarder.ts';
import { isLocal, newClient } from './support.ts';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  body: string;
}

/** Makes the service break a rule of the interface, by a change of a request or of an answer. */
interface Fault {
  /** Begins the name of the check that finds it. */
  readonly check: string;
  readonly name: string;
  readonly ask?: (request: Request, key: string) => Request;
  readonly answer?: (answer: Answer, request: Request) => void;
  readonly says: RegExp;
}

/** The same request for another URL. */
const redirect = (pattern: RegExp, replacement: string) => (request: Request) =>
  pattern.test(request.url) ? new Request(request.url.replace(pattern, replacement), request) : request;

const petsIn = ({ body }: Answer): string[] => body.match(/\{[^}]*\}/g) ?? [];

const faults: readonly Fault[] = [
  {
    check: 'A request without a valid key',
    name: 'any key of the right form is accepted',
    ask: (request, key) => {
      if (request.headers.get('authorization')?.length === `Bearer ${key}`.length)
        request.headers.set('authorization', `Bearer ${key}`);
      return request;
    },
    says: /instead of 401/,
  },
  {
    check: 'A request without a valid key',
    name: 'an unknown path needs no key',
    ask: (request, key) => {
      if (request.url.endsWith('/nowhere')) request.headers.set('authorization', `Bearer ${key}`);
      return request;
    },
    says: /GET \/nowhere answered 404 instead of 401/,
  },
  {
    check: 'A request without a valid key',
    name: '401 has no rate headers',
    answer: ({ status, headers }) => {
      if (status === 401) headers.delete('x-ratelimit-limit');
    },
    says: /401: header x-ratelimit-limit/,
  },
  {
    check: 'An animal is added',
    name: 'the categoryId is rounded',
    answer: (answer) => {
      answer.body = answer.body.replace('9223372036854775807', '9223372036854775808');
    },
    says: /categoryId 9223372036854775807 came back in/,
  },
  {
    check: 'A body that is not valid',
    name: 'an error has no status',
    answer: (answer) => {
      if (answer.status === 413) answer.body = answer.body.replace(/,"status":\d+/, '');
    },
    says: /status/,
  },
  {
    check: 'A listing is an array',
    name: 'the limit is ignored',
    ask: redirect(/limit=5$/, 'limit=20'),
    says: /limit=5 returned 20 animals, 5 at most/,
  },
  {
    check: 'A walk through the pages',
    name: 'a page leaves an animal out',
    ask: redirect(/limit=2&(?=.*cursor=)/, 'limit=3&'),
    answer: (answer, { url }) => {
      if (!/limit=3&.*cursor=/.test(url)) return;
      answer.body = `[${petsIn(answer).toSpliced(1, 1).join(',')}]`;
      answer.headers.set('link', (answer.headers.get('link') ?? '').replace('limit=3&', 'limit=2&'));
    },
    says: /leaves out \d+/,
  },
  {
    check: 'The status filter',
    name: 'the filter lets others through',
    ask: redirect(/limit=100&status=pending/, 'limit=100&status=sold'),
    says: /the filter pending lets sold through/,
  },
  {
    check: 'A limit, status or cursor',
    name: 'a limit that is too large is clamped',
    ask: redirect(/limit=101/, 'limit=100'),
    says: /limit=101 answered 200 instead of 400/,
  },
  {
    check: 'The deprecated operation',
    name: '404 does not announce the end',
    answer: ({ status, headers }) => {
      if (status === 404) headers.delete('sunset');
    },
    says: /Sunset/,
  },
  {
    check: 'An unknown path',
    name: '405 has no Allow',
    answer: ({ headers }) => headers.delete('allow'),
    says: /GET/,
  },
  {
    check: 'The rate headers',
    name: 'requests are not counted',
    answer: ({ status, headers }) => {
      if (status !== 401) headers.set('x-ratelimit-remaining', '700');
    },
    says: /remaining went from 700 to 700/,
  },
];

/** `fetch` from a service with the fault. */
function fetchWith({ ask = (request) => request, answer }: Partial<Fault>, key: string): typeof fetch {
  return async (input, init) => {
    const request = ask(new Request(input, init), key);
    const response = await fetch(request);
    const { status, headers } = response;
    const changed: Answer = { status, headers: new Headers(headers), body: await response.text() };
    answer?.(changed, request);
    return new Response(changed.body, changed);
  };
}

describe.runIf(isLocal)('the checks of the smoke test', () => {
  it.each(faults)('find that $name: $check', async ({ check, says, ...fault }) => {
    const { baseUrl, key } = await newClient('business');
    const client = new Client(baseUrl, key, { retryPauses: [], send: fetchWith(fault, key) });
    const results = await runChecks(checks, client);
    const failed = results.flatMap(({ name, outcome }) =>
      outcome.kind === 'failed' ? [{ name, why: outcome.why }] : [],
    );
    expect(failed).toEqual([{ name: expect.stringMatching(`^${check}`), why: expect.stringMatching(says) }]);
  });

  it('find no fault in the service, with no more requests than announced', async () => {
    const { baseUrl, key } = await newClient('business');
    let valid = 0;
    const ask = (request: Request): Request => {
      if (request.headers.get('authorization') === `Bearer ${key}`) valid += 1;
      return request;
    };
    const results = await runChecks(checks, new Client(baseUrl, key, { send: fetchWith({ ask }, key) }));
    expect(results.map(({ outcome }) => outcome)).toEqual(checks.map(() => ({ kind: 'passed' })));
    expect(valid).toBeLessThanOrEqual(requestsNeeded);
  });

  it('add nothing with --read-only, and say which checks are skipped', async () => {
    const { baseUrl, key } = await newClient('business');
    const created: string[] = [];
    const answer = ({ status, body }: Answer): void => void (status === 201 && created.push(body));
    const client = new Client(baseUrl, key, { readOnly: true, send: fetchWith({ answer }, key) });
    const results = await runChecks(checks, client);
    expect(results.map(({ outcome }) => outcome)).not.toContainEqual(
      expect.objectContaining({ kind: 'failed' }),
    );
    expect(results.find(({ name }) => name.startsWith('An animal is added'))?.outcome).toEqual({
      kind: 'skipped',
      why: 'it adds animals',
    });
    expect(created).toEqual([]);
  });
});

describe.runIf(isLocal)('npm run smoke', () => {
  it('prints each check, and its exit code is for a pipeline', async () => {
    const { key, baseUrl } = await newClient('business');
    const { code, output } = await smoke({ variable: key }, '--url', baseUrl);
    expect(output).toMatch(/\d+ passed, 0 failed/);
    expect(code).toBe(0);
    expect(output).not.toContain(key);
  });

  it('ends with 2 when an argument is invalid', async () => {
    const { url, key } = inject('e2e');
    for (const given of ['nowhere', new URL(url).origin, new URL(url).host + '/v1', `${url}/pets`]) {
      const wrong = await smoke({ variable: key }, '--url', given);
      expect(wrong).toMatchObject({
        code: 2,
        output: expect.stringContaining('It must be a base address'),
      });
    }
    expect(await smoke({ variable: key })).toMatchObject({ code: 2 });
    expect(await smoke({ variable: key }, '--url', url, '--wait', 'long')).toMatchObject({ code: 2 });
  });

  it('says on one line that the key is missing or mistyped', async () => {
    const { url, key } = inject('e2e');
    expect(await smoke({}, '--url', url)).toEqual({
      code: 2,
      output: 'The API key is missing. Set SMOKE_KEY, or pass the key on standard input.\n',
    });
    expect(await smoke({ variable: key.slice(0, -1) }, '--url', url)).toEqual({
      code: 2,
      output: 'The text in SMOKE_KEY is not an API key: its form or its checksum is wrong.\n',
    });
  });

  it('says on one line that the stage does not know the key, or that its requests are used up', async () => {
    const { url } = inject('e2e');
    const unknown = await smoke({ variable: newKey('local') }, '--url', url, '--wait', '0');
    expect(unknown).toEqual({
      code: 1,
      output:
        'The API key cannot be used: GET /pets?limit=1 answered 401: this stage does not know the API key.\n',
    });
    const small = await newClient('free');
    for (let sent = 0; sent < 10; sent += 1) await small.send({ path: '/pets/1' });
    const used = await smoke({ variable: small.key }, '--url', url);
    expect(used.code).toBe(1);
    expect(used.output).toMatch(/^The API key cannot be used: the API key has \d+ requests left, and .+\n$/);
  });

  it('reports an address that does not respond', async () => {
    const { code, output } = await smoke(
      { variable: newKey('local') },
      '--url',
      'http://127.0.0.1:1/v1',
      '--wait',
      '0',
    );
    expect(code).toBe(1);
    expect(output.trim()).toMatch(/^No response from http:\/\/127\.0\.0\.1:1\/v1: .+$/);
  });

  it('waits visibly for a stage that is not effective yet', async () => {
    const { baseUrl, key } = await newClient('business');
    // oxlint-disable-next-line eslint/no-restricted-properties -- of an HTTP URL
    const { origin, pathname } = new URL(baseUrl);
    let calls = 0;
    const answer = (_request: unknown, response: ServerResponse): boolean => {
      calls += 1;
      if (calls === 1) response.writeHead(503).end('{}');
      return calls === 1;
    };
    const stage = await forwardTo(origin, { answer });
    onTestFinished(() => stage.close());
    const { code, output } = await smoke({ input: `${key}\n` }, '--url', stage.endpoint + pathname);
    expect(output.match(/^Not ready yet: GET \/pets\?limit=1 answered 503\./gm)).toHaveLength(1);
    expect(output).toMatch(/\d+ passed, 0 failed/);
    expect(code).toBe(0);
  });
});

/** The API key comes by the variable SMOKE_KEY or by standard input. */
function smoke(
  { variable, input = '' }: { readonly variable?: string; readonly input?: string },
  ...args: string[]
): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const { SMOKE_KEY: _, ...others } = process.env;
    const child = execFile(
      process.execPath,
      ['tools/run.mjs', 'smoke', ...args],
      { env: { ...others, ...(variable !== undefined && { SMOKE_KEY: variable }) } },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, output: stdout + stderr }),
    );
    child.stdin?.end(input);
  });
}
