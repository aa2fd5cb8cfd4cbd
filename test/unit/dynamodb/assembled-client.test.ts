import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { assembledClient, type ClientSettings } from '../../../functions/dynamodb/assembled-client.ts';
import { atCorrectTime, Clock } from '../../../functions/dynamodb/clock.ts';
import { newRequestHandler } from '../../../functions/dynamodb/request-handler.ts';
import { signatureFault } from '../../support/signature.ts';

/**
 * DynamoDB Local looks at no signature, so what the client of the functions sends is held against Amazon's
 * specification here, and against what the SDK's own client sends.
 */
interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

interface Reply {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const region = 'eu-central-1';
const credentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG',
  sessionToken: 'token/+=',
};

let server: Server;
let endpoint: string;
const received: Received[] = [];
/** What the server answers, one after the other; the last for ever. */
let answers: Reply[];

/** The time by the server's clock, which no test changes. */
const serverTime = () => performance.timeOrigin + performance.now();

/** What DynamoDB answers instead to a request that was signed at a wrong time. */
let rejectsSkewedClocks = false;

beforeAll(async () => {
  server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method, url, headers } = request;
      received.push({ method, url, headers, body });
      const skewed = rejectsSkewedClocks ? rejectionOfSkew(String(headers['x-amz-date'])) : undefined;
      const answer = skewed ?? (answers.length > 1 ? answers.shift()! : answers[0]!);
      response.writeHead(answer.status, {
        'Content-Type': 'application/x-amz-json-1.0',
        Date: new Date(serverTime()).toUTCString(),
        ...answer.headers,
      });
      response.end(answer.body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

beforeEach(() => {
  received.length = 0;
  answers = [{ status: 200, body: '{}' }];
  rejectsSkewedClocks = false;
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

afterAll(() => {
  server.close();
  server.closeAllConnections();
});

const clientOf = (settings: Partial<ClientSettings> = {}) =>
  assembledClient({
    region,
    credentials,
    endpoint,
    requestHandler: newRequestHandler({}),
    clock: new Clock(),
    throttlingRetries: 1,
    ...settings,
  });
const ours = (settings?: Partial<ClientSettings>) => DynamoDBDocumentClient.from(clientOf(settings));
const theirs = () => DynamoDBDocumentClient.from(new DynamoDBClient({ region, credentials, endpoint }));

const name = 'Müsli "🐈"\n';
const commands = {
  get: new GetCommand({ TableName: 'T', Key: { id: 2n ** 63n - 1n } }),
  put: new PutCommand({
    TableName: 'T',
    Item: { id: 1n, name },
    ConditionExpression: 'attribute_not_exists(id)',
  }),
  query: new QueryCommand({
    TableName: 'T',
    IndexName: 'byStatus',
    KeyConditionExpression: '#status = :status AND id < :before',
    ExpressionAttributeNames: { '#status': 'status' },
    ExpressionAttributeValues: { ':status': name, ':before': -(2n ** 63n) },
    ScanIndexForward: false,
    Limit: 21,
  }),
  update: new UpdateCommand({
    TableName: 'T',
    Key: { keyHash: 'a' },
    UpdateExpression: 'ADD #n :v0',
    ExpressionAttributeNames: { '#n': 'n' },
    ExpressionAttributeValues: { ':v0': 1 },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  }),
  transaction: new TransactWriteCommand({
    TransactItems: [
      { Put: { TableName: 'T', Item: { id: 1n, name, nested: { list: [1n, 'a', null, true] } } } },
    ],
    ClientRequestToken: 'token',
  }),
};

async function requestOf(client: DynamoDBDocumentClient, command: keyof typeof commands): Promise<Received> {
  await client.send(commands[command] as GetCommand);
  return received.pop()!;
}

describe.each(Object.keys(commands) as (keyof typeof commands)[])('the request for a %s', (command) => {
  test('is the same as that of the SDK’s client, except for the user agent', async () => {
    const [own, original] = [await requestOf(ours(), command), await requestOf(theirs(), command)];
    expect([own.method, own.url]).toEqual([original.method, original.url]);
    expect(JSON.parse(own.body)).toEqual(JSON.parse(original.body));
    for (const header of ['x-amz-target', 'content-type', 'content-length', 'host', 'x-amz-security-token']) {
      expect(own.headers[header]).toBe(original.headers[header]);
    }
  });

  test('is signed completely with Signature Version 4', async () => {
    const request = await requestOf(ours(), command);
    expect(request.headers['x-amz-security-token']).toBe(credentials.sessionToken);
    expect(request.headers.authorization).toContain('x-amz-security-token');
    expect(faultOf(request)).toBeUndefined();
    // The check does notice what was not signed.
    expect(faultOf({ ...request, body: `${request.body} ` })).toBe('the signature does not match');
  });
});

test('a failed attempt is retried with a new signature', async () => {
  answers = [
    { status: 400, body: '{"__type":"ProvisionedThroughputExceededException"}' },
    { status: 500, body: '{"__type":"InternalServerError"}' },
    { status: 200, body: '{"Item":{"id":{"N":"1"}}}' },
  ];
  const { Item: item } = await ours().send(commands.get);
  expect(item).toEqual({ id: 1 });
  expect(received).toHaveLength(3);
  expect(received.map(faultOf)).toEqual([undefined, undefined, undefined]);
});

test.each([
  [1, 2, 24],
  [0, 1, 0],
])(
  'with %d retries of throttles, %d attempts wait for %d ms at most',
  async (throttlingRetries, attempts, delay) => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999);
    answers = [{ status: 400, body: '{"__type":"ProvisionedThroughputExceededException"}' }];
    await expect(ours({ throttlingRetries }).send(commands.get)).rejects.toMatchObject({
      name: 'ProvisionedThroughputExceededException',
      $metadata: { attempts, totalRetryDelay: delay },
    });
    expect(received).toHaveLength(attempts);
  },
);

test.each(['2', '100', new Date(Date.now() + 60_000).toUTCString()])(
  'an answer does not decide how long a retry waits: retry-after %s',
  async (after) => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999);
    const error = { status: 503, body: '{"__type":"ServiceUnavailable"}', headers: { 'Retry-After': after } };
    answers = [error, { status: 200, body: '{}' }];
    const { $metadata: metadata } = await ours().send(commands.get);
    expect(metadata).toMatchObject({ attempts: 2, totalRetryDelay: 24 });
  },
);

test.each([
  ['eu-central-1', 'dynamodb.eu-central-1.amazonaws.com'],
  ['us-gov-west-1', 'dynamodb.us-gov-west-1.amazonaws.com'],
  ['cn-north-1', 'dynamodb.cn-north-1.amazonaws.com.cn'],
])('in %s the endpoint is %s, with TLS', async (where, host) => {
  const settings = { region: where, credentials };
  const [own, original] = [clientOf({ ...settings, endpoint: undefined }), new DynamoDBClient(settings)];
  const destinations = await Promise.all([own, original].map((client) => destinationOf(client)));
  expect(destinations).toEqual([`https://${host}/`, `https://${host}/`]);
});

describe('a clock that is wrong', () => {
  /** A client whose calls are built again after a correction of their clock, as those of the functions are. */
  function correcting() {
    const clock = new Clock();
    const client = ours({ clock });
    return (command: GetCommand | PutCommand) =>
      atCorrectTime(clock, () => client.send(command as GetCommand));
  }

  /** Runs work while this process believes it is another time. */
  async function withClockOffBy(minutes: number, work: () => Promise<void>): Promise<void> {
    vi.useFakeTimers({ toFake: ['Date'], now: serverTime() + minutes * 60_000 });
    rejectsSkewedClocks = true;
    await work();
  }

  test.each([5.1, -1_440])(
    'by %d minutes is corrected by the first answer, and not again after it',
    async (minutes) => {
      await withClockOffBy(minutes, async () => {
        const send = correcting();
        await send(commands.get);
        expect(received).toHaveLength(2);
        await send(commands.put);
        expect(received).toHaveLength(3);
      });
    },
  );

  test('is corrected by an answer without error as well', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: serverTime() + 600_000 });
    const send = correcting();
    await send(commands.get);
    rejectsSkewedClocks = true;
    await send(commands.get);
    expect(received).toHaveLength(2);
  });

  test('is corrected for the retries of the same call', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: serverTime() + 200_000 });
    answers = [{ status: 500, body: '{"__type":"InternalServerError"}' }, answers[0]!];
    await ours().send(commands.get);
    const errors = received.map(({ headers }) => timeOfDate(String(headers['x-amz-date'])) - serverTime());
    expect(errors).toHaveLength(2);
    expect(errors[0]).toBeGreaterThan(190_000);
    expect(Math.abs(errors[1]!)).toBeLessThan(10_000);
  });

  test('that was corrected before is not the reason for a signature that is rejected now', async () => {
    await withClockOffBy(10, async () => {
      const send = correcting();
      await send(commands.get);
      expect(received).toHaveLength(2);
      rejectsSkewedClocks = false;
      answers = [{ status: 400, body: '{"__type":"SignatureDoesNotMatch"}' }];
      await expect(send(commands.get)).rejects.toMatchObject({ name: 'SignatureDoesNotMatch' });
      expect(received).toHaveLength(3);
    });
  });
});

test('a call is given up when its caller aborts it', async () => {
  const arrived = Promise.withResolvers<void>();
  const silent = createServer(() => arrived.resolve());
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  try {
    const { port } = silent.address() as AddressInfo;
    const client = clientOf({ endpoint: `http://127.0.0.1:${port}` });
    const abort = new AbortController();
    const call = DynamoDBDocumentClient.from(client).send(commands.get, { abortSignal: abort.signal });
    await arrived.promise;
    abort.abort();
    await expect(call).rejects.toMatchObject({ name: 'AbortError' });
  } finally {
    silent.close();
    silent.closeAllConnections();
  }
});

/** DynamoDB's answer to a signature that is more than five minutes off, if this one is. */
function rejectionOfSkew(date: string): Reply | undefined {
  const late = serverTime() - timeOfDate(date);
  if (Math.abs(late) < 300_000) return undefined;
  const message =
    late > 0
      ? `Signature expired: ${date} is now earlier than the server's time minus 5 min.`
      : `Signature not yet current: ${date} is still later than the server's time plus 5 min.`;
  return {
    status: 400,
    body: JSON.stringify({ __type: 'com.amazon.coral.service#InvalidSignatureException', message }),
  };
}

/** Of `20260701T120000Z`, in milliseconds. */
function timeOfDate(date: string): number {
  return Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
}

/** Where a client would send a request, which is stopped before it leaves. */
async function destinationOf(client: DynamoDBClient): Promise<string> {
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
  await DynamoDBDocumentClient.from(client).send(commands.get);
  return destination.promise;
}

function faultOf(request: Received): string | undefined {
  return signatureFault(request, Buffer.from(request.body), credentials, region, 'dynamodb');
}
