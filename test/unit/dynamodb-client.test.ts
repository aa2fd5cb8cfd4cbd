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
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { leanDynamoDbClient } from '../../functions/dynamodb-client.ts';
import { signatureFault } from '../support/signature.ts';

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
let answers: { readonly status: number; readonly body: string }[];

beforeAll(async () => {
  server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method, url, headers } = request;
      received.push({ method, url, headers, body });
      const answer = answers.length > 1 ? answers.shift()! : answers[0]!;
      response.writeHead(answer.status, { 'Content-Type': 'application/x-amz-json-1.0' });
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
});

afterAll(() => {
  server.close();
  server.closeAllConnections();
});

const ours = () => DynamoDBDocumentClient.from(leanDynamoDbClient({ region, credentials, endpoint }));
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
};

async function send(client: DynamoDBDocumentClient, command: keyof typeof commands): Promise<Received> {
  await client.send(commands[command] as GetCommand);
  return received.pop()!;
}

describe.each(Object.keys(commands) as (keyof typeof commands)[])('the request for a %s', (command) => {
  test('is that of the SDK’s own client, but for who sends it', async () => {
    const [own, original] = [await send(ours(), command), await send(theirs(), command)];
    expect({ method: own.method, url: own.url, body: own.body }).toEqual({
      method: original.method,
      url: original.url,
      body: original.body,
    });
    for (const header of ['x-amz-target', 'content-type', 'content-length', 'host', 'x-amz-security-token']) {
      expect(own.headers[header]).toBe(original.headers[header]);
    }
  });

  test('is signed as Signature Version 4 demands, the whole of it', async () => {
    const request = await send(ours(), command);
    expect(request.headers['x-amz-security-token']).toBe(credentials.sessionToken);
    expect(request.headers.authorization).toContain('x-amz-security-token');
    expect(faultOf(request)).toBeUndefined();
    // The check does notice what was not signed.
    expect(faultOf({ ...request, body: `${request.body} ` })).toBe('the signature does not match');
  });
});

test('an attempt that fails is made again, signed anew', async () => {
  answers = [
    { status: 500, body: '{"__type":"InternalServerError"}' },
    { status: 400, body: '{"__type":"ProvisionedThroughputExceededException"}' },
    { status: 200, body: '{"Item":{"id":{"N":"1"}}}' },
  ];
  const { Item: item } = await ours().send(commands.get);
  expect(item).toEqual({ id: 1 });
  expect(received).toHaveLength(3);
  expect(received.map(faultOf)).toEqual([undefined, undefined, undefined]);
});

test('an attempt that is refused is not made again', async () => {
  answers = [{ status: 400, body: '{"__type":"com.amazonaws.dynamodb.v20120810#ValidationException"}' }];
  await expect(ours().send(commands.get)).rejects.toMatchObject({ name: 'ValidationException' });
  expect(received).toHaveLength(1);
});

test.each([
  ['eu-central-1', 'dynamodb.eu-central-1.amazonaws.com'],
  ['us-gov-west-1', 'dynamodb.us-gov-west-1.amazonaws.com'],
  ['cn-north-1', 'dynamodb.cn-north-1.amazonaws.com.cn'],
])('in %s DynamoDB is found at %s, by TLS', async (where, host) => {
  const settings = { region: where, credentials };
  const [own, original] = [leanDynamoDbClient(settings), new DynamoDBClient(settings)];
  const destinations = await Promise.all([own, original].map((client) => destinationOf(client)));
  expect(destinations).toEqual([`https://${host}/`, `https://${host}/`]);
});

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
