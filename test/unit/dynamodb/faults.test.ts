import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  DynamoDBDocumentClient,
  GetCommand,
  type GetCommandOutput,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { assembledClient } from '../../../functions/dynamodb/assembled-client.ts';
import { atCorrectTime, Clock } from '../../../functions/dynamodb/clock.ts';
import { newRequestHandler } from '../../../functions/dynamodb/request-handler.ts';
import { selfSignedCertificate } from '../../support/certificate.ts';

/**
 * The client of the functions fails as the SDK's own client does, whatever a server answers: with the same class of error,
 * after the same retries. The exceptions are throttles, which it retries once, and answers without a body, which it rejects.
 */

type Respond = (response: ServerResponse, request: IncomingMessage) => unknown;

const { key, certificate } = selfSignedCertificate('localhost');
const trusted = getCACertificates('default');
const server = createServer({ key, cert: certificate });
/** Milliseconds that an attempt may take. Only faults without an answer reach them. */
const patience = { connectionTimeout: 30_000, requestTimeout: 30_000 };
const impatience = { connectionTimeout: 30_000, requestTimeout: 60 };

/** Of the current test. A call that an earlier one has given up can still arrive. */
let accessKeyId = '';
/** The attempts of the calls so far. */
let attempts = 0;
let respond: Respond;

beforeAll(async () => {
  setDefaultCACertificates([...trusted, certificate]);
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.headers.authorization?.includes(accessKeyId)) attempts += 1;
    request.resume().on('end', () => respond(response, request));
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
});

beforeEach(() => {
  // No delay before a retry.
  vi.spyOn(Math, 'random').mockReturnValue(0);
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

afterAll(() => {
  setDefaultCACertificates(trusted);
  server.close();
  server.closeAllConnections();
});

const TableName = 'T';
const commands = {
  get: new GetCommand({ TableName, Key: { id: 1 } }),
  put: new PutCommand({ TableName, Item: { id: 1 }, ConditionExpression: 'attribute_not_exists(id)' }),
  query: new QueryCommand({ TableName, KeyConditionExpression: 'id = :id' }),
  update: new UpdateCommand({ TableName, Key: { id: 1 }, UpdateExpression: 'ADD n :one' }),
  transaction: new TransactWriteCommand({ TransactItems: [{ Put: { TableName, Item: { id: 1 } } }] }),
};
type Command = keyof typeof commands;

/** An answer with this body, as text or as JSON. */
const answer =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Respond =>
  (response) =>
    response
      .writeHead(status, { 'Content-Type': 'application/x-amz-json-1.0', ...headers })
      .end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));

const named = (type: string, status = 400, more: object = {}): Respond =>
  answer(status, { __type: `com.amazonaws.dynamodb.v20120810#${type}`, message: 'No.', ...more });

const stored = { id: { N: '9223372036854775807' }, tags: { L: [{ BOOL: true }, { NULL: true }] } };

/** The time by the server's clock, which no test changes. */
const serverTime = () => performance.timeOrigin + performance.now();

/** What DynamoDB answers to a signature that is more than five minutes off. */
const checkingTime =
  (type: string): Respond =>
  (response, request) => {
    const signed = String(request.headers['x-amz-date']);
    const time = Date.parse(
      signed.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'),
    );
    const date = { Date: new Date(serverTime()).toUTCString() };
    const skewed = Math.abs(serverTime() - time) > 300_000;
    answer(skewed ? 400 : 200, skewed ? { __type: type, message: 'No.' } : {}, date)(response, request);
  };

const faults: readonly (readonly [name: string, fault: Respond, command?: Command])[] = [
  ['an item', answer(200, { Item: stored })],
  ['no item', answer(200, {})],
  ['the item null', answer(200, { Item: null })],
  ['an update', answer(200, { Attributes: stored }), 'update'],
  ['a page', answer(200, { Items: [stored], LastEvaluatedKey: stored, Count: 1 }), 'query'],
  ['a page with members null', answer(200, { Items: null, LastEvaluatedKey: null }), 'query'],
  ['an item and a wrong CRC', answer(200, { Item: stored }, { 'x-amz-crc32': '1' })],
  ['a type of content that is not JSON', answer(200, { Item: stored }, { 'Content-Type': 'text/html' })],
  ['a reset connection', (response) => response.destroy()],
  [
    'an answer that is cut',
    (response) => {
      response.writeHead(200, { 'Content-Length': '100' }).write('{"Item"', () => response.destroy());
    },
  ],
  ['garbage', answer(200, '\u0000{]')],
  ['garbage to a write', answer(200, '\u0000{]'), 'put'],
  ['half of a JSON document', answer(200, '{"Item":')],
  ['gzip', answer(200, gzipSync('{}'), { 'Content-Encoding': 'gzip' })],
  ['HTML', answer(200, '<html></html>')],
  ['HTML with 400', answer(400, '<html></html>')],
  ['HTML with 503', answer(503, '<html></html>')],
  ['an empty body with 400', answer(400, '')],
  ['an empty body with 500', answer(500, '')],
  ['301', answer(301, '', { Location: 'https://example.com/' })],
  ['302 with HTML', answer(302, '<html></html>', { Location: 'https://example.com/' })],
  ['a server error', named('InternalServerError', 500)],
  ['a service that is out of order', answer(503, { message: 'No.' })],
  ['a missing table', named('ResourceNotFoundException')],
  [
    'missing rights',
    answer(400, { __type: 'com.amazon.coral.service#AccessDeniedException', Message: 'No.' }),
  ],
  ['an invalid request', answer(400, { __type: 'com.amazon.coral.validate#ValidationException' })],
  ['a failed condition', named('ConditionalCheckFailedException', 400, { Item: stored }), 'put'],
  [
    'a failed condition with members null',
    named('ConditionalCheckFailedException', 400, { Item: null }),
    'put',
  ],
  [
    'a cancelled transaction',
    named('TransactionCanceledException', 400, {
      CancellationReasons: [
        { Code: 'None' },
        { Code: 'ConditionalCheckFailed', Item: stored, Message: null },
      ],
    }),
    'transaction',
  ],
  ['a conflict of replicas', answer(400, { __type: 'ReplicatedWriteConflictException' }), 'put'],
  ['an unknown type', named('SomethingNew')],
  ['an unknown type of server error', named('SomethingNew', 503)],
  ['an error without a type', answer(400, { message: 'No.' })],
  ['a type that is null', answer(400, { __type: null, message: null })],
  ['a type in `code`', answer(400, { code: 'ResourceNotFoundException', message: 'No.' })],
  ['a type in the header', answer(400, {}, { 'x-amzn-errortype': 'ResourceNotFoundException' })],
  ['a type with a suffix', answer(400, { __type: 'ValidationException:http://internal.amazon.com/' })],
  ['a signature that is rejected', answer(400, { __type: 'InvalidSignatureException', message: 'No.' })],
];

test.each(faults.map(([name, fault, command = 'get']) => [name, fault, command] as const))(
  '%s',
  async (_, fault, command) => {
    const [own, original] = await outcomes(fault, command);
    expect(own).toEqual(original);
  },
);

const throttles: readonly (readonly [string, Respond])[] = [
  ['a throttled table', named('ProvisionedThroughputExceededException')],
  ['a throttled account', named('RequestLimitExceeded')],
  ['a throttle', answer(400, { __type: 'com.amazon.coral.availability#ThrottlingException' })],
  ['a throttle in HTML', answer(429, '<html></html>')],
  [
    'a throttle in the header, with a suffix',
    answer(400, '', { 'x-amzn-errortype': 'ThrottlingException:http://internal.amazon.com/' }),
  ],
  ['a transaction in progress', named('TransactionInProgressException')],
];

// Waiting for a throttled table would hold an execution environment (functions/dynamodb/retry-strategy.ts).
test.each(throttles)('%s is the same error after one retry', async (_, fault) => {
  const [own, original] = await outcomes(fault, 'get');
  expect(original).toMatchObject({ calls: 4 });
  expect(own).toEqual({ ...(original as object), attempts: 2, calls: 2 });
});

// The SDK takes it for success: a write would be acknowledged that may never have happened.
test.each<[string, Respond]>([
  ['an empty body', answer(200, '')],
  ['null', answer(200, 'null')],
  ['a JSON array', answer(200, ' []')],
  ['204', (response) => response.writeHead(204).end()],
])('%s is an error', async (_, fault) => {
  const [own, original] = await outcomes(fault, 'put');
  expect(original).toMatchObject({ output: {}, calls: 1 });
  expect(own).toMatchObject({ constructor: SyntaxError, attempts: 1, calls: 1 });
});

test.each<[string, Respond]>([
  ['no answer', () => {}],
  [
    'an answer that stops',
    (response) => {
      response.writeHead(200, { 'Content-Length': '100' }).write('{');
    },
  ],
  // Only the time-out of the request ends this one: the socket is never idle for long.
  [
    'an answer that never starts',
    (response) => {
      const timer = setInterval(() => response.writeProcessing(), 5);
      response.on('close', () => clearInterval(timer));
    },
  ],
])('%s', async (_, fault) => {
  // Where a busy machine is when the time is over is chance, and so are the message and the number of arrivals.
  const timeout = { constructor: Error, name: 'TimeoutError', attempts: 4 };
  expect(await outcomes(fault, 'get', impatience)).toMatchObject([timeout, timeout]);
});

test.each([
  [5.1, 'com.amazon.coral.service#InvalidSignatureException'],
  [-5.1, 'RequestExpired'],
  [1_440, 'RequestInTheFuture'],
  [-1_440, 'RequestTimeTooSkewed'],
  [60, 'SignatureDoesNotMatch'],
] as const)('a clock that is wrong by %d minutes, answered by %s', async (minutes, type) => {
  vi.useFakeTimers({ toFake: ['Date'], now: serverTime() + minutes * 60_000 });
  // Each attempt of the assembled client is a call of its own: what depends on the time is built again.
  const found = await outcomes(checkingTime(type), 'get');
  expect(found).toMatchObject([
    { output: {}, attempts: 1, calls: 2 },
    { output: {}, attempts: 2, calls: 2 },
  ]);
});

test('a server whose certificate is not trusted', async () => {
  setDefaultCACertificates(trusted);
  try {
    const [own, original] = await outcomes(answer(200, {}), 'get');
    expect(own).toEqual(original);
    expect(own).toMatchObject({ calls: 0 });
  } finally {
    setDefaultCACertificates([...trusted, certificate]);
  }
});

test('a server that refuses connections', async () => {
  const closed = createServer();
  closed.listen(0, 'localhost');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  const [own, original] = await outcomes(answer(200, {}), 'get', patience, port);
  expect(own).toEqual(original);
});

/** What a call of each client comes to: the assembled one, and the SDK's own. */
async function outcomes(
  fault: Respond,
  command: Command,
  timeouts: typeof patience = patience,
  port = (server.address() as AddressInfo).port,
): Promise<unknown[]> {
  respond = fault;
  accessKeyId = randomUUID();
  const settings = { region: 'eu-central-1', credentials: { accessKeyId, secretAccessKey: 'secret' } };
  const endpoint = `https://localhost:${port}`;
  const { requestTimeout } = timeouts;
  const clock = new Clock();
  const own = assembledClient({
    ...settings,
    endpoint,
    clock,
    throttlingRetries: 1,
    requestHandler: newRequestHandler(timeouts),
  });
  const original = new DynamoDBClient({
    ...settings,
    endpoint,
    requestHandler: { ...timeouts, throwOnRequestTimeout: true, socketTimeout: requestTimeout },
  });
  const sendWith = (client: DynamoDBClient) =>
    DynamoDBDocumentClient.from(client).send(commands[command] as GetCommand);
  const found = [];
  for (const send of [() => atCorrectTime(clock, () => sendWith(own)), () => sendWith(original)]) {
    attempts = 0;
    found.push({ ...(await outcomeOf(send)), calls: attempts });
  }
  own.destroy();
  original.destroy();
  return found;
}

/** Of the SDK's errors. */
interface ErrorFields {
  readonly $metadata?: { readonly httpStatusCode?: number; readonly attempts?: number };
  readonly $fault?: unknown;
  readonly $retryable?: unknown;
  readonly $response?: { readonly statusCode?: unknown };
  readonly code?: unknown;
  readonly Item?: unknown;
  readonly CancellationReasons?: unknown;
}

async function outcomeOf(send: () => Promise<GetCommandOutput>): Promise<object> {
  try {
    const { $metadata: metadata, ...output } = await send();
    return { output, status: metadata.httpStatusCode, attempts: metadata.attempts };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const { $metadata: metadata, $response: response, ...fields } = error as Error & ErrorFields;
    const { $fault, $retryable, code, Item, CancellationReasons } = fields;
    return {
      constructor: error.constructor,
      name: error.name,
      message: error.message.replace(/:\d+$/, ''),
      status: metadata?.httpStatusCode,
      attempts: metadata?.attempts,
      answered: response?.statusCode,
      $fault,
      $retryable,
      code,
      Item,
      CancellationReasons,
    };
  }
}
