import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import * as z from 'zod';
import { selfSignedCertificate } from '../../test/support/certificate.ts';
import { keyHash } from './fixtures.ts';

export interface DynamoDbServer {
  /** Environment variables that make a function use and trust it. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** The input of a call, as far as answers depend on it. */
const callInput = z.looseObject({
  TableName: z.string().optional(),
  ConditionExpression: z.string().optional(),
});
export type CallInput = z.output<typeof callInput>;

export interface CallAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** What DynamoDB answers to a call. @param operation such as `UpdateItem` */
export type Answers = (operation: string, input: CallInput) => CallAnswer | Promise<CallAnswer>;

/**
 * Answers like DynamoDB, with a delay and over TLS: a first request includes a handshake, which DynamoDB Local does not
 * support.
 *
 * @param waitMs milliseconds for each answer
 */
export async function startDynamoDb(waitMs: number, answers: Answers = stubbed()): Promise<DynamoDbServer> {
  const { key, certificate } = selfSignedCertificate('localhost');
  const directory = await mkdtemp(join(tmpdir(), 'animal-store-bench-'));
  const certificateFile = join(directory, 'certificate.pem');
  await writeFile(certificateFile, certificate);
  const server = createServer({ key, cert: certificate }, (incoming, outgoing) => {
    const operation = String(incoming.headers['x-amz-target']).split('.').at(-1)!;
    const answer = async (): Promise<void> => {
      const { status, body } = await answers(operation, callInput.parse(await json(incoming)));
      outgoing.writeHead(status, { 'Content-Type': 'application/x-amz-json-1.0' });
      const text = JSON.stringify(body);
      if (waitMs === 0) outgoing.end(text);
      else setTimeout(() => outgoing.end(text), waitMs);
    };
    answer().catch((error: unknown) => outgoing.destroy(error as Error));
  });
  await new Promise<void>((done) => void server.listen(0, 'localhost', done));
  return {
    environment: {
      AWS_ENDPOINT_URL_DYNAMODB: `https://localhost:${(server.address() as AddressInfo).port}`,
      NODE_EXTRA_CA_CERTS: certificateFile,
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      await rm(directory, { recursive: true });
    },
  };
}

/** The answers of the common case: a page of animals, one animal, one key, and a request counted. Others: `{}`. */
function stubbed(): Answers {
  const number = (value: number) => ({ N: String(value) });
  const animal = (id: number) => ({
    id: number(id),
    name: { S: `Bella ${id}` },
    categoryId: number(3),
    status: { S: 'available' },
  });
  const now = Math.floor(Date.now() / 1_000);
  const minute = { minute: number(now - (now % 60)), minuteCount: number(1) };
  const day = { day: number(now - (now % 86_400)), dayCount: number(1) };
  const key = { keyId: { S: 'key_bench' }, plan: { S: 'free' }, status: { S: 'active' } };
  const answers: Readonly<Record<string, unknown>> = {
    'Query Pets': { Items: Array.from({ length: 21 }, (_, index) => animal(1_000 - index)) },
    'GetItem Pets': { Item: animal(7) },
    'UpdateItem RateLimits': { Attributes: { keyHash: { S: keyHash }, ...minute, ...day } },
    'UpdateItem PartsLimits': {
      Attributes: { key: { S: keyHash }, points: number(1), expire: number(now + 86_400) },
    },
    'GetItem ApiKeys': { Item: { keyHash: { S: keyHash }, ...key } },
  };
  return (operation, { TableName: table, ConditionExpression: condition }) => {
    // rate-limiter-flexible first tries to start a window, which it is only once a window.
    if (condition?.startsWith('expire <= ')) return { status: 400, body: conditionFailed };
    return { status: 200, body: answers[`${operation} ${table}`] ?? {} };
  };
}

const conditionFailed = {
  __type: 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException',
  message: 'The conditional request failed',
};
