import { execFile } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, inject, it } from 'vitest';
import { stageOfKey } from '../../functions/access/keys.ts';
import { checks } from '../../tools/smoke/checks.ts';
import { Client } from '../../tools/smoke/client.ts';
import { runChecks } from '../../tools/smoke/run.ts';
import { isLocal, newClient } from './support.ts';

interface Message {
  status: number;
  readonly headers: Headers;
  body: string;
}

interface Request {
  readonly method: string;
  readonly path: string;
}

/** A service that is the real one but for a single fault. */
interface Fault {
  readonly name: string;
  readonly answer?: (message: Message, request: Request) => void;
  /** Takes the place of the path that the client asked for. */
  readonly ask?: (path: string) => string;
  /** Takes the place of the Authorization header that the client sent. */
  readonly authorize?: (
    authorization: string | undefined,
    key: string,
    request: Request,
  ) => string | undefined;
  /** What of the interface it breaks: the checks that fail, all of them, and what one of them says. */
  readonly fails: readonly Sentence[];
  readonly says: RegExp;
  /** The checks that it could touch at all. */
  readonly among?: readonly Sentence[];
}

/** The checks, by what sets each apart. */
const sentences = {
  authentication: /^A request without a valid key/,
  creation: /^An animal is added with 201/,
  bodies: /^A body that is not valid/,
  limit: /^A listing is an array of as many animals as/,
  walk: /^A walk through the pages/,
  filter: /^The status filter/,
  queries: /^A limit, status or cursor that is not valid/,
  deprecated: /^The deprecated operation/,
  paths: /^An unknown path/,
  rates: /^The rate headers/,
};
type Sentence = keyof typeof sentences;

function sentenceOf(name: string): Sentence {
  const all = Object.entries(sentences).filter(([, pattern]) => pattern.test(name));
  expect(all).toHaveLength(1);
  return all[0]![0] as Sentence;
}

const everyError: readonly Sentence[] = ['authentication', 'bodies', 'queries', 'deprecated', 'paths'];
const everything: readonly Sentence[] = Object.keys(sentences) as Sentence[];

const operations: readonly (readonly [name: string, of: (request: Request) => boolean])[] = [
  ['GET /pets', ({ method, path }) => method === 'GET' && /\/pets(\?|$)/.test(path)],
  ['POST /pets', ({ method }) => method === 'POST'],
  ['GET /pets/{id}', ({ method, path }) => method === 'GET' && /\/pets\/./.test(path)],
  ['an unknown path', ({ path }) => path.endsWith('/nowhere')],
];

/** Each operation left open, alone, to each kind of request that has no right to it. */
const openDoors = operations.flatMap(([operation, isIt]): Fault[] => [
  {
    name: `${operation} without a key let in`,
    authorize: (authorization, key, request) =>
      authorization ?? (isIt(request) ? `Bearer ${key}` : undefined),
    fails: ['authentication'],
    says: /instead of 401/,
  },
  {
    name: `${operation} with a malformed key let in`,
    authorize: (authorization, key, request) =>
      authorization !== undefined && authorization.length < `Bearer ${key}`.length && isIt(request)
        ? `Bearer ${key}`
        : authorization,
    fails: ['authentication'],
    says: /instead of 401/,
  },
  {
    name: `${operation} with any well-formed key let in`,
    authorize: (authorization, key, request) =>
      authorization !== undefined && authorization.length === `Bearer ${key}`.length && isIt(request)
        ? `Bearer ${key}`
        : authorization,
    fails: ['authentication'],
    says: /instead of 401/,
  },
  {
    name: `${operation} with any key of the right checksum let in`,
    authorize: (authorization, key, request) =>
      authorization !== undefined && stageOfKey(authorization.slice(7)) !== undefined && isIt(request)
        ? `Bearer ${key}`
        : authorization,
    fails: ['authentication'],
    says: /instead of 401/,
  },
]);

const isListing = operations[0]![1];
const animalsIn = ({ body }: Message): string[] => body.match(/\{[^}]*\}/g) ?? [];
const list = (message: Message, animals: readonly string[]) => void (message.body = `[${animals.join(',')}]`);
const everyOther = (animals: readonly string[]) => animals.filter((_, index) => index % 2 === 0);
const isSold = (path: string) => path.includes('status=sold');

/** Whether a following page is asked for, in walks with or without the filter. */
const isFollowing = (path: string) => path.includes('cursor=') && path.includes('limit=2&');
const skipping = (matches: (path: string) => boolean): Pick<Fault, 'ask' | 'answer'> => ({
  // One more than asked for, and one of them not told: the page is full, and the next goes on where it ended.
  ask: (path) => (isFollowing(path) && matches(path) ? path.replace('limit=2&', 'limit=3&') : path),
  answer: (message, { path }) => {
    if (!isFollowing(path) || !matches(path)) return;
    list(message, animalsIn(message).toSpliced(1, 1));
    const link = message.headers.get('link');
    if (link !== null) message.headers.set('link', link.replace('limit=3&', 'limit=2&'));
  },
});
let lastMet = '';

const wrongPaging: readonly Fault[] = [
  {
    name: 'a following page that starts over',
    answer: ({ headers }) => {
      const link = headers.get('link');
      if (link !== null) headers.set('link', link.replace(/&cursor=[^>]+/, ''));
    },
    fails: ['walk', 'queries'],
    says: /returned \d+ twice|not newest first/,
  },
  {
    name: 'no following page',
    answer: ({ headers }, request) => {
      if (isListing(request) && !request.path.includes('limit=100')) headers.delete('link');
    },
    fails: ['walk', 'queries'],
    says: /has no following page, yet there are more/,
  },
  {
    name: 'a walk that ends early',
    answer: ({ headers }, { path }) => {
      if (isFollowing(path)) headers.delete('link');
    },
    fails: ['walk'],
    says: /the walk .* leaves out \d+/,
  },
  {
    name: 'a walk with the filter that ends early',
    answer: ({ headers }, { path }) => {
      if (isFollowing(path) && isSold(path)) headers.delete('link');
    },
    fails: ['walk'],
    says: /the walk .*status=sold leaves out \d+/,
  },
  {
    name: 'a page that skips an animal',
    ...skipping((path) => !path.includes('status')),
    fails: ['walk'],
    says: /leaves out \d+/,
  },
  {
    name: 'a page with the filter that skips an animal',
    ...skipping(isSold),
    fails: ['walk'],
    says: /leaves out \d+/,
  },
  {
    name: 'a large page that skips an animal',
    answer: (message, { path }) => {
      if (path.includes('limit=20') && path.includes('cursor='))
        list(message, animalsIn(message).toSpliced(2, 1));
    },
    fails: ['walk'],
    says: /leaves out \d+|not full/,
  },
  {
    name: 'a page that repeats an animal of the page before',
    answer: (message, { path }) => {
      if (!isFollowing(path)) {
        lastMet = '';
        return;
      }
      const animals = animalsIn(message);
      if (lastMet !== '' && animals.length > 1) list(message, [lastMet, ...animals.slice(1)]);
      lastMet = message.headers.has('link') ? (animals.at(-1) ?? '') : '';
    },
    fails: ['walk'],
    says: /the walk .* returned \d+ twice/,
  },
  {
    name: 'a page that holds an animal twice',
    answer: (message, { path }) => {
      const [first = '', , ...rest] = animalsIn(message);
      if (isFollowing(path)) list(message, [first, first, ...rest]);
    },
    fails: ['walk'],
    says: /returned \d+ twice/,
  },
  {
    name: 'a following page without the filter',
    answer: (message, { path }) => {
      if (isFollowing(path) && isSold(path)) message.body = message.body.replace('"sold"', '"available"');
    },
    fails: ['walk'],
    says: /the filter sold lets available through/,
  },
  {
    name: 'oldest first',
    answer: (message, request) => {
      if (isListing(request) && message.status === 200) list(message, animalsIn(message).toReversed());
    },
    fails: ['limit', 'walk', 'filter'],
    says: /not newest first/,
  },
];

const wrongListings: readonly Fault[] = [
  ...(['available', 'pending', 'sold'] as const).map((status): Fault => ({
    name: `an empty listing of what is ${status}`,
    answer: (message, { path }) => {
      if (!path.includes(`status=${status}`) || message.status !== 200) return;
      message.headers.delete('link');
      message.body = '[]';
    },
    fails: status === 'sold' ? ['limit', 'walk', 'filter', 'queries'] : ['filter'],
    says: new RegExp(`status=${status} leaves out \\d+`),
  })),
  {
    name: 'a filter that leaves animals out',
    answer: (message, { path }) => {
      if (path.includes('limit=100&status=')) list(message, everyOther(animalsIn(message)));
      if (path.includes('limit=100&status=')) message.headers.delete('link');
    },
    fails: ['filter'],
    says: /status=\w+ leaves out \d+, which .* returned as \w+/,
  },
  {
    name: 'a filter that lets others through',
    ask: (path) => path.replace('status=pending', 'status=sold'),
    fails: ['filter', 'queries'],
    says: /the filter pending lets sold through/,
  },
  {
    name: 'a listing without a filter that leaves animals out',
    answer: (message, { path }) => {
      if (!path.endsWith('?limit=100')) return;
      list(message, everyOther(animalsIn(message)));
      message.headers.delete('link');
    },
    fails: ['filter'],
    says: /limit=100 leaves out \d+, which a filter returned/,
  },
  {
    name: 'an empty listing where a limit is given',
    answer: (message, { path }) => {
      if (!path.endsWith('/pets?limit=5')) return;
      message.headers.delete('link');
      message.body = '[]';
    },
    fails: ['limit'],
    says: /limit=5 returned 0 animals instead of 5/,
  },
  {
    name: 'a limit that is ignored',
    ask: (path) => path.replace(/limit=5$/, 'limit=20'),
    fails: ['limit'],
    says: /limit=5 returned 20 animals, 5 at most/,
  },
  {
    name: 'a limit of which one less is given',
    ask: (path) => path.replace(/limit=5$/, 'limit=4'),
    answer: ({ headers }, { path }) => void (path.endsWith('limit=5') && headers.delete('link')),
    fails: ['limit'],
    says: /limit=5 returned 4 animals instead of 5/,
  },
  {
    name: 'an empty listing where no limit is given',
    answer: (message, { path }) => {
      if (!path.endsWith('/pets') || message.status !== 200) return;
      message.headers.delete('link');
      message.body = '[]';
    },
    fails: ['limit'],
    says: /\/pets returned 0 animals instead of 20/,
  },
  {
    name: 'more than 20 where no limit is given',
    ask: (path) => path.replace(/\/pets$/, '/pets?limit=21'),
    fails: ['limit'],
    says: /\/pets returned 21 animals, 20 at most/,
  },
  {
    name: 'less than 20 where no limit is given',
    ask: (path) => path.replace(/\/pets$/, '/pets?limit=10'),
    answer: ({ headers }, { path }) => void (path.endsWith('/pets') && headers.delete('link')),
    fails: ['limit'],
    says: /\/pets returned 10 animals instead of 20/,
  },
  {
    name: 'a limit of 100 that is cut to 20',
    ask: (path) => path.replace(/limit=100$/, 'limit=20'),
    fails: ['limit', 'filter'],
    says: /limit=100 has a following page, yet is not full/,
  },
];

const faults: readonly Fault[] = [
  {
    name: 'an error without its status field',
    answer: (message) => {
      if (message.status >= 400) message.body = message.body.replace(/,?"status":\d+/, '');
    },
    fails: everyError,
    says: /status/,
  },
  {
    name: 'an error with a field too many',
    answer: (message) => {
      if (message.status >= 400) message.body = message.body.replace(/^\{/, '{"detail":"x",');
    },
    fails: everyError,
    says: /detail/,
  },
  {
    name: 'an error whose status is not that of the answer',
    answer: (message) => {
      if (message.status === 404) message.body = message.body.replace('"status":404', '"status":400');
    },
    fails: ['deprecated', 'paths'],
    says: /the body says status 400, the answer is 404/,
  },
  {
    name: 'a missing rate header',
    answer: ({ headers }) => headers.delete('x-ratelimit-remaining'),
    fails: everything,
    says: /x-ratelimit-remaining/,
  },
  {
    name: 'a rate header missing on 404 alone',
    answer: ({ status, headers }) => {
      if (status === 404) headers.delete('x-ratelimit-reset');
    },
    fails: ['deprecated', 'paths'],
    says: /404: header x-ratelimit-reset/,
  },
  {
    name: 'a rate header missing on 401 alone',
    answer: ({ status, headers }) => {
      if (status === 401) headers.delete('x-ratelimit-limit');
    },
    fails: ['authentication'],
    says: /401: header x-ratelimit-limit/,
  },
  {
    name: 'a rate header that does not count',
    answer: ({ headers, status }) => {
      if (status !== 401) headers.set('x-ratelimit-remaining', '7');
    },
    fails: ['rates'],
    says: /remaining went from 7 to 7/,
  },
  {
    name: 'a 401 without a challenge',
    answer: ({ headers }) => headers.delete('www-authenticate'),
    fails: ['authentication'],
    says: /WWW-Authenticate/,
  },
  {
    name: 'a challenge that does not tell an invalid token',
    answer: ({ headers }) => {
      if (headers.has('www-authenticate')) headers.set('www-authenticate', 'Bearer realm="animal-store"');
    },
    fails: ['authentication'],
    says: /WWW-Authenticate/,
  },
  ...openDoors.map((fault) => ({
    ...fault,
    among: ['authentication'] as const,
  })),
  ...[...wrongPaging, ...wrongListings].map((fault) => ({
    ...fault,
    among: ['limit', 'walk', 'filter', 'queries'] as const,
  })),
  {
    name: 'an inexact categoryId',
    answer: (message) => {
      message.body = message.body.replace('9223372036854775807', '9223372036854775808');
    },
    fails: ['creation'],
    says: /categoryId 9223372036854775807 came back in/,
  },
];

/** A proxy on loopback that hands everything on to the service, with the fault put in. */
async function serveFaulty(fault: Omit<Fault, 'fails' | 'says'>, url: string, key: string) {
  let callsWithKey = 0;
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.headers.authorization === `Bearer ${key}`) callsWithKey += 1;
    const { method = 'GET', url: path = '/', headers } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const authorization = fault.authorize
      ? fault.authorize(headers.authorization, key, { method, path })
      : headers.authorization;
    const answer = await fetch(new URL(url).origin + (fault.ask?.(path) ?? path), {
      method,
      headers: {
        ...(headers['content-type'] !== undefined && { 'Content-Type': headers['content-type'] }),
        ...(authorization !== undefined && { Authorization: authorization }),
      },
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    });
    const message: Message = {
      status: answer.status,
      headers: new Headers(answer.headers),
      body: await answer.text(),
    };
    // Links lead back through the proxy, as they would on another host name.
    for (const name of ['link', 'location']) {
      const value = message.headers.get(name);
      if (value !== null) message.headers.set(name, value.replaceAll(url, base()));
    }
    for (const name of ['content-length', 'transfer-encoding', 'content-encoding', 'connection']) {
      message.headers.delete(name);
    }
    fault.answer?.(message, { method, path });
    response.writeHead(message.status, Object.fromEntries(message.headers)).end(message.body);
  };
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}${new URL(url).pathname}`;
  return {
    base: base(),
    callsWithKey: () => callsWithKey,
    stop: () => server.closeAllConnections() ?? server.close(),
  };
}

/** What fails on a service with a fault. */
async function runOn(fault: Omit<Fault, 'fails' | 'says'>, key: string, among = everything) {
  const proxy = await serveFaulty(fault, inject('e2e').url, key);
  try {
    // Other tests add animals meanwhile, but no index lags here: one more attempt is enough.
    const chosen = checks.filter(({ name }) => among.includes(sentenceOf(name)));
    const results = await runChecks(chosen, new Client(proxy.base, key, [0]));
    const failures = results.filter(({ failure }) => failure !== undefined);
    return { failures, calls: proxy.callsWithKey() };
  } finally {
    proxy.stop();
  }
}

describe.runIf(isLocal)('the smoke test', () => {
  it('holds on the real service, also through a proxy that changes nothing', async () => {
    const { key } = await newClient('business');
    const { failures, calls } = await runOn({ name: 'none' }, key);
    expect(failures).toEqual([]);
    // As the help says: most keys have that many a minute left.
    expect(calls).toBeLessThan(60);
  });

  it.concurrent.each(faults)('fails on $name', async ({ fails, says, among = everything, ...fault }) => {
    const { key } = await newClient('business');
    const { failures } = await runOn(fault, key, among);
    expect(failures.map(({ name }) => sentenceOf(name))).toEqual(fails);
    expect(failures.map(({ failure }) => failure)).toContainEqual(expect.stringMatching(says));
  });

  it('prints each check, and its exit code is for a pipeline', async () => {
    const { url } = inject('e2e');
    const { key } = await newClient('business');
    const good = await smoke('--url', url, '--key', key);
    expect(good.output).toMatch(/\d+ passed, 0 failed/);
    expect(good.code).toBe(0);
    expect(good.output).not.toContain(key);
    const bad = await smoke('--url', url, '--key', `${key.slice(0, -1)}_`, '--wait', '0');
    expect(bad.code).toBe(1);
    expect(bad.output).toContain('Not ready: GET /pets?limit=1 answered 401. Running the checks anyway.');
    for (const given of ['nowhere', new URL(url).origin, new URL(url).host + '/v1', `${url}/pets`]) {
      const wrong = await smoke('--url', given, '--key', key);
      expect(wrong).toMatchObject({
        code: 2,
        output: expect.stringContaining('It must be a base address'),
      });
    }
    expect(await smoke('--key', key)).toMatchObject({ code: 2 });
    expect(await smoke('--url', url, '--key', key, '--wait', 'long')).toMatchObject({ code: 2 });
    const nobody = await smoke('--url', 'http://127.0.0.1:1/v1', '--key', key, '--wait', '0');
    expect(nobody.code).toBe(1);
    expect(nobody.output.trim()).toMatch(/^No response from http:\/\/127\.0\.0\.1:1\/v1: .+$/);
  });

  it('waits visibly for a key that is not effective yet', async () => {
    const { key } = await newClient('business');
    let rejected = 0;
    const proxy = await serveFaulty(
      {
        name: 'a key that becomes effective with the third call',
        authorize: (authorization) => ((rejected += 1) <= 2 ? 'Bearer too-early' : authorization),
      },
      inject('e2e').url,
      key,
    );
    try {
      const { code, output } = await smoke('--url', proxy.base, '--key', key);
      expect(output.match(/^Not ready yet: GET \/pets\?limit=1 answered 401\./gm)).toHaveLength(2);
      expect(output).toMatch(/\d+ passed, 0 failed/);
      expect(code).toBe(0);
    } finally {
      proxy.stop();
    }
  });
});

function smoke(...args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, ['tools/run.mjs', 'smoke', ...args], (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, output: stdout + stderr }),
    );
  });
}
