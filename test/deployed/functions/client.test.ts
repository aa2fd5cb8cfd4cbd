import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { connect } from '../../../functions/dynamodb/connection.ts';

/** What the settings change in the SDK's client. test/deployed/functions/bundles.test.ts looks at its signatures. */

type Respond = (response: ServerResponse) => unknown;

/** The time by the server's clock, which no test changes. */
const serverTime = () => performance.timeOrigin + performance.now();

const received: IncomingMessage[] = [];
/** What the server answers, one after the other; the last for ever. */
let answers: Respond[];

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    received.push(request);
    response.setHeader('Date', new Date(serverTime()).toUTCString());
    return (answers.length > 1 ? answers.shift()! : answers[0]!)(response);
  });
});

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

beforeEach(() => {
  received.length = 0;
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

afterAll(() => {
  server.close();
  server.closeAllConnections();
});

/** An answer with this body, as text or as JSON. */
const answer =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Respond =>
  (response) =>
    response
      .writeHead(status, { 'Content-Type': 'application/x-amz-json-1.0', ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body));
const item = answer(200, { Item: { id: { N: '1' } } });
const serverError = answer(500, { __type: 'InternalServerError' });

const lambda = {
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'secret',
};
const get = new GetCommand({ TableName: 'T', Key: { id: 1 } });
const put = new PutCommand({ TableName: 'T', Item: { id: 1 } });

function connected(requestTimeout?: number) {
  const { port } = server.address() as AddressInfo;
  return connect({
    ...lambda,
    AWS_ENDPOINT_URL_DYNAMODB: `http://127.0.0.1:${port}`,
    DYNAMODB_REQUEST_TIMEOUT_MS: requestTimeout,
  });
}

const throttles: readonly (readonly [string, Respond])[] = [
  ['table', answer(400, { __type: 'ProvisionedThroughputExceededException' })],
  ['account', answer(400, { __type: 'RequestLimitExceeded' })],
  ['call', answer(400, { __type: 'com.amazon.coral.availability#ThrottlingException' })],
  ['call, in HTML', answer(429, '<html></html>')],
  [
    'call, in the header',
    answer(400, '', { 'x-amzn-errortype': 'ThrottlingException:http://internal.amazon.com/' }),
  ],
  ['transaction in progress', answer(400, { __type: 'TransactionInProgressException' })],
];

describe.each([
  ['client', 2, 24],
  ['impatientClient', 1, 0],
] as const)('the %s', (name, attempts, delay) => {
  test.each(throttles)(
    `makes ${attempts} attempts and waits for ${delay} ms at most: a throttled %s`,
    async (_, fault) => {
      vi.spyOn(Math, 'random').mockReturnValue(0.999);
      answers = [fault];
      await expect(connected()[name].send(get)).rejects.toMatchObject({
        $metadata: { attempts, totalRetryDelay: delay },
      });
      expect(received).toHaveLength(attempts);
    },
  );
});

test('another transient error is repeated three times', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  answers = [serverError];
  await expect(connected().impatientClient.send(get)).rejects.toMatchObject({
    name: 'InternalServerError',
    $metadata: { attempts: 4 },
  });
});

test.each(['2', '100', new Date(Date.now() + 60_000).toUTCString()])(
  'an answer does not decide how long a retry waits: retry-after %s',
  async (after) => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999);
    answers = [answer(503, { __type: 'ServiceUnavailable' }, { 'Retry-After': after }), item];
    const { $metadata: metadata } = await connected().client.send(get);
    expect(metadata).toMatchObject({ attempts: 2, totalRetryDelay: 24 });
  },
);

// The SDK takes some of them for success: a write would be acknowledged that may never have happened.
test.each<[string, Respond]>([
  ['an empty body', answer(200, '')],
  ['null', answer(200, 'null')],
  ['a JSON array', answer(200, ' []')],
  ['204', (response) => response.writeHead(204).end()],
  ['HTML', answer(200, '<html></html>')],
  ['half of a JSON document', answer(200, '{"Item":')],
])('%s is an error', async (_, fault) => {
  answers = [fault];
  await expect(connected().client.send(put)).rejects.toMatchObject({
    constructor: SyntaxError,
    $metadata: { attempts: 1 },
  });
  expect(received).toHaveLength(1);
});

test('white space before the object is none', async () => {
  answers = [answer(200, ' \n{"Item":{"id":{"N":"1"}}}')];
  expect(await connected().client.send(get)).toMatchObject({ Item: { id: { value: '1' } } });
});

test.each<[string, Respond]>([
  ['no answer', () => {}],
  ['an answer that stops', (response) => response.writeHead(200, { 'Content-Length': '100' }).write('{')],
  // Only the time-out of the request ends this one: the socket is never idle for long.
  [
    'an answer that never starts',
    (response) => {
      const timer = setInterval(() => response.writeProcessing(), 5);
      response.on('close', () => clearInterval(timer));
    },
  ],
])('%s ends with a time-out', async (_, fault) => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  answers = [fault];
  await expect(connected(60).client.send(get)).rejects.toMatchObject({
    name: 'TimeoutError',
    $metadata: { attempts: 4 },
  });
});

test('a call is given up when its caller aborts it', async () => {
  const arrived = Promise.withResolvers<void>();
  answers = [() => arrived.resolve()];
  const abort = new AbortController();
  const call = connected().client.send(get, { abortSignal: abort.signal });
  await arrived.promise;
  abort.abort();
  await expect(call).rejects.toMatchObject({ name: 'AbortError' });
});

test.each([5.1, -1_440])('a clock that is wrong by %d minutes is corrected', async (minutes) => {
  vi.useFakeTimers({ toFake: ['Date'], now: serverTime() + minutes * 60_000 });
  const { client } = connected();
  answers = [answer(400, { __type: 'InvalidSignatureException', message: 'Signature expired' }), item];
  expect(await client.send(get)).toMatchObject({ Item: { id: { value: '1' } }, $metadata: { attempts: 2 } });
  const last = String(received.at(-1)!.headers['x-amz-date']);
  const signed = Date.parse(last.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  expect(Math.abs(signed - serverTime())).toBeLessThan(60_000);
});

test.each([
  ['eu-central-1', 'dynamodb.eu-central-1.amazonaws.com'],
  ['us-gov-west-1', 'dynamodb.us-gov-west-1.amazonaws.com'],
  ['cn-north-1', 'dynamodb.cn-north-1.amazonaws.com.cn'],
])('in %s the endpoint is %s, with TLS', async (region, host) => {
  const { client } = connect({ ...lambda, AWS_REGION: region });
  expect(await destinationOf(client)).toBe(`https://${host}/`);
});

/** Where a client would send a request, which is stopped before it leaves. */
async function destinationOf(client: DynamoDBDocumentClient): Promise<string> {
  const destination = Promise.withResolvers<string>();
  client.middlewareStack.add(
    () => async (args) => {
      const { protocol, hostname, path } = args.request as {
        protocol: string;
        hostname: string;
        path: string;
      };
      destination.resolve(`${protocol}//${hostname}${path}`);
      return { output: { $metadata: {} }, response: {} };
    },
    { step: 'deserialize', priority: 'high' },
  );
  await client.send(get);
  return destination.promise;
}
