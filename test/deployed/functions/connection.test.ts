import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { connect, connectionEnvironment } from '../../../functions/dynamodb/connection.ts';

const lambda = { AWS_REGION: 'eu-central-1', AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'secret' };

let server: Server;
let endpoint: string;
let silent: boolean;
const requests: IncomingMessage['headers'][] = [];
const sockets = new Set<unknown>();

beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push(request.headers);
    sockets.add(request.socket);
    if (silent) return;
    response.writeHead(200, { 'Content-Type': 'application/x-amz-json-1.0' });
    response.end('{"Item":{"id":{"N":"9223372036854775807"}}}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

beforeEach(() => {
  silent = false;
  requests.length = 0;
  sockets.clear();
});

afterAll(() => {
  server.close();
  server.closeAllConnections();
});

const connected = (variables: NodeJS.ProcessEnv) => connect(z.parse(connectionEnvironment, variables));

async function get(variables: Readonly<Record<string, string>>) {
  const { client } = connected({ ...lambda, AWS_ENDPOINT_URL_DYNAMODB: endpoint, ...variables });
  const { Item: item } = await client.send(new GetCommand({ TableName: 'T', Key: { id: 1 } }));
  return { item, headers: requests.at(-1)! };
}

describe('the DynamoDB client of a function', () => {
  test('keeps every digit of a number', async () => {
    expect((await get({})).item).toMatchObject({ id: { value: '9223372036854775807' } });
  });

  test('signs with the credentials and the Region of the environment', async () => {
    const { headers } = await get({});
    expect(headers.authorization).toMatch(/Credential=AKID\/\d{8}\/eu-central-1\/dynamodb\/aws4_request/);
    expect(headers).not.toHaveProperty('x-amz-security-token');
  });

  test('sends the session token that Lambda sets', async () => {
    const { headers } = await get({ AWS_SESSION_TOKEN: 'token' });
    expect(headers['x-amz-security-token']).toBe('token');
  });

  test('shares one connection with the client that does not repeat throttled calls', async () => {
    const { client, impatientClient } = connected({ ...lambda, AWS_ENDPOINT_URL_DYNAMODB: endpoint });
    for (const each of [client, impatientClient, client])
      await each.send(new GetCommand({ TableName: 'T', Key: { id: 1 } }));
    expect(sockets.size).toBe(1);
  });

  test('gives up an attempt after the request time-out of the environment', async () => {
    silent = true;
    await expect(get({ DYNAMODB_REQUEST_TIMEOUT_MS: '30' })).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  test.each(Object.keys(lambda))('cannot be made without %s', (name) => {
    expect(() => connected({ ...lambda, [name]: undefined })).toThrow(name);
  });

  test.each(['', 'x', '1x', 'x1', '-1', '1.5'])('cannot be made with a time-out of %j', (text) => {
    expect(() => connected({ ...lambda, DYNAMODB_REQUEST_TIMEOUT_MS: text })).toThrow(
      'DYNAMODB_REQUEST_TIMEOUT_MS',
    );
    expect(() => connected({ ...lambda, DYNAMODB_CONNECTION_TIMEOUT_MS: text })).toThrow(
      'DYNAMODB_CONNECTION_TIMEOUT_MS',
    );
  });
});
