import { execFile } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { newKey } from '../../../functions/access/keys.ts';
import { checks } from '../../../tools/operators/smoke/smoke-checks.ts';
import type { RunTool } from '../../../tools/operators/command-line/program.ts';
import { runChecks, runSmoke } from '../../../tools/operators/smoke/cli.ts';
import { Client } from '../../../tools/operators/smoke/client.ts';
import { requestsNeeded } from '../../../tools/operators/smoke/wait-until-ready.ts';
import { forwardTo } from '../../support/forwarder.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { isFullRun, isLocal, newClient } from './support.ts';

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
    check: 'Each operation answers',
    name: 'an animal that does not exist is found',
    ask: redirect(/pets\/0$/, 'pets?limit=1'),
    says: /GET \/pets\/0 answered 200 instead of 404/,
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
    says: /two pages of 2 differ from/,
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
    return new Response(changed.body || null, changed);
  };
}

describe.runIf(isLocal)('the checks of the smoke test', () => {
  let service: Client;
  beforeAll(async () => {
    service = await newClient('business');
  });

  it.each(faults)('find that $name: $check', async ({ check, says, ...fault }) => {
    const { baseUrl, key } = service;
    const client = new Client(baseUrl, key, { retryPauses: [], send: fetchWith(fault, key) });
    // That no other check fails takes as long again for each fault as the whole smoke test.
    const run = Object.entries(checks).filter(([name]) => isFullRun || name.startsWith(check));
    const results = await Array.fromAsync(runChecks(Object.fromEntries(run), client));
    expect(results.filter(({ outcome }) => outcome === 'failed')).toMatchObject([
      { name: expect.stringMatching(`^${check}`), why: expect.stringMatching(says) },
    ]);
  });

  it('pass where API Gateway leaves the ID of a request out of its own responses', async () => {
    const { baseUrl, key } = service;
    const answer = ({ status, headers }: Answer) => void (status === 401 && headers.delete('x-request-id'));
    const client = new Client(baseUrl, key, { retryPauses: [], send: fetchWith({ answer }, key) });
    const run = Object.entries(checks).filter(([name]) => name.startsWith('A request without a valid key'));
    const results = await Array.fromAsync(runChecks(Object.fromEntries(run), client));
    expect(results).toMatchObject([{ outcome: 'passed' }]);
  });

  it('add nothing with --read-only, and say which checks are skipped', async () => {
    const { baseUrl, key } = await newClient('business');
    const created: string[] = [];
    const answer = ({ status, body }: Answer): void => void (status === 201 && created.push(body));
    const client = new Client(baseUrl, key, { readOnly: true, send: fetchWith({ answer }, key) });
    const results = await Array.fromAsync(runChecks(checks, client));
    expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    expect(results.find(({ name }) => name.startsWith('An animal is added'))).toMatchObject({
      outcome: 'skipped',
      why: 'it adds animals',
    });
    expect(created).toEqual([]);
  });
});

describe.runIf(isLocal)('npm run smoke', () => {
  /** A stage that answers its first request with 503. */
  async function startStage() {
    const { baseUrl, key } = await newClient('business');
    // oxlint-disable-next-line eslint/no-restricted-properties -- of an HTTP URL
    const { origin, pathname } = new URL(baseUrl);
    const keys: (string | undefined)[] = [];
    const answer = ({ headers }: IncomingMessage, response: ServerResponse): boolean => {
      keys.push(headers.authorization);
      const fails = keys.length === 1;
      if (fails) response.writeHead(503).end('{}');
      return fails;
    };
    const forwarder = await forwardTo(origin, { answer });
    onTestFinished(() => forwarder.close());
    const requestsWithKey = () => keys.filter((each) => each === `Bearer ${key}`).length;
    return { key, url: forwarder.endpoint + pathname, requestsWithKey };
  }

  it('waits visibly until the stage is effective, then passes with no more requests than announced', async () => {
    const { key, url, requestsWithKey } = await startStage();
    const { code, output } = await smokeProcess({ input: `${key}\n` }, '--url', url);
    const attempts =
      /^GET \/pets\?limit=1 answered 503\. Next attempt in 1 s; giving up after another (\d+) s\.$/gm;
    const [patience, ...others] = [...output.matchAll(attempts)].map(([, seconds]) => Number(seconds));
    expect(others).toEqual([]);
    // Of two minutes, some have passed on a slow machine.
    expect(patience).toBeGreaterThan(1);
    expect(output.match(/^✓ .+ \(\d+ ms\)$/gm)).toHaveLength(Object.keys(checks).length);
    expect(output).toContain(`\n${Object.keys(checks).length} passed, 0 failed, `);
    expect(output).not.toContain(key);
    expect(code).toBe(0);
    expect(requestsWithKey() - 2).toBeLessThanOrEqual(requestsNeeded);
  });

  const { url, key } = inject('service');
  const refused = 'http://127.0.0.1:1/v1';

  it.each([
    {
      problem: 'an address without the version segment',
      run: () => smoke({ variable: key }, '--url', new URL(url).origin),
      code: 2,
      says: /It must be a base address that ends in the version segment \/v1\.$/,
    },
    {
      problem: 'a missing key',
      run: () => smoke({}, '--url', url),
      code: 2,
      says: /^The API key is missing\. Set SMOKE_KEY, or pass the key on standard input\.$/,
    },
    {
      problem: 'a mistyped key',
      run: () => smokeProcess({ variable: key.slice(0, -1) }, '--url', url),
      code: 2,
      says: /^The text in SMOKE_KEY is not an API key: its form or its checksum is wrong\.$/,
    },
    {
      problem: 'a key that the stage does not know',
      run: () => smoke({ variable: newKey('local') }, '--url', url, '--wait', '0'),
      code: 1,
      says: /^GET \/pets\?limit=1 answered 401: this stage does not know the API key\.$/,
    },
    {
      problem: 'an address that does not respond',
      run: () => smoke({ variable: newKey('local') }, '--url', refused, '--wait', '0'),
      code: 1,
      says: /^No response \(.+\)\. Check the address/,
    },
  ])('reports $problem on one line', async ({ run, code, says }) => {
    const ended = await run();
    expect(ended).toEqual({ code, output: expect.stringMatching(/^.+\n$/) });
    expect(ended.output.trim()).toMatch(says);
  });
});

/** The key comes in the variable SMOKE_KEY or by standard input. */
interface KeySource {
  readonly variable?: string;
  readonly input?: string;
}

async function smoke({ variable, ...given }: KeySource, ...args: string[]) {
  const run: RunTool = (all, io) => runSmoke(all, io, variable);
  const { exitCode, stdout, stderr } = await runInProcess(run, args, given);
  return { code: exitCode, output: stdout + stderr };
}

/** The same by npm's launcher. */
function smokeProcess(
  { variable, input = '' }: KeySource,
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
