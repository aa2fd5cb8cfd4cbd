import { describe, expect, it } from 'vitest';
import { stageOfKey } from '../../../functions/access/keys.ts';
import { checks } from '../../../tools/smoke/checks.ts';
import { Client } from '../../../tools/smoke/client.ts';
import { runChecks } from '../../../tools/smoke/run.ts';
import { MemoryService } from '../../support/memory-service.ts';

interface Message {
  readonly status: number;
  readonly headers: Headers;
  body: string;
}

interface Request {
  readonly method: string;
  readonly path: string;
}

/** A service that is the real one but for a single fault. */
interface Defect {
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
const openDoors = operations.flatMap(([operation, isIt]): Defect[] => [
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
const skipping = (matches: (path: string) => boolean): Pick<Defect, 'ask' | 'answer'> => ({
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

const wrongPaging: readonly Defect[] = [
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

const wrongListings: readonly Defect[] = [
  ...(['available', 'pending', 'sold'] as const).map((status): Defect => ({
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

const faults: readonly Defect[] = [
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
  ...openDoors,
  ...wrongPaging,
  ...wrongListings,
  {
    name: 'an inexact categoryId',
    answer: (message) => {
      message.body = message.body.replace('9223372036854775807', '9223372036854775808');
    },
    fails: ['creation'],
    says: /categoryId 9223372036854775807 came back in/,
  },
];

/** `fetch` for a client of the service with a fault. */
function fetchFrom(service: MemoryService, { ask, authorize, answer }: Omit<Defect, 'fails' | 'says'>) {
  return async (input: string | URL | globalThis.Request, init?: RequestInit): Promise<Response> => {
    const sent = new globalThis.Request(input, init);
    const { method, headers } = sent;
    const path = sent.url.slice(new URL(service.baseUrl).origin.length);
    const given = headers.get('authorization') ?? undefined;
    const authorization = authorize ? authorize(given, service.key, { method, path }) : given;
    if (authorization === undefined) headers.delete('authorization');
    else headers.set('authorization', authorization);
    const message: Message = {
      ...service.answer({ method, path: ask?.(path) ?? path, headers, body: await sent.text() }),
    };
    answer?.(message, { method, path });
    return new Response(message.body, message);
  };
}

/** The checks that fail on a service with a fault, and how many requests all of them took. */
async function runOn(fault: Omit<Defect, 'fails' | 'says'>) {
  const service = new MemoryService(60);
  const client = new Client(service.baseUrl, service.key, [], fetchFrom(service, fault));
  const results = await runChecks(checks, client);
  return { failures: results.filter(({ failure }) => failure !== undefined), calls: client.calls };
}

describe('the checks of the smoke test', () => {
  it('pass on a service without a fault, with as many requests as the help says', async () => {
    const { failures, calls } = await runOn({ name: 'none' });
    expect(failures).toEqual([]);
    // Most keys have 60 requests a minute. Those of the first check have no valid key.
    expect(calls - 24).toBeLessThan(60);
  });

  it.each(faults)('fail on $name', async ({ fails, says, ...fault }) => {
    const { failures } = await runOn(fault);
    expect(failures.map(({ name }) => sentenceOf(name))).toEqual(fails);
    expect(failures.map(({ failure }) => failure)).toContainEqual(expect.stringMatching(says));
  });
});
