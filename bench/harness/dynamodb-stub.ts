import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import * as z from 'zod';
import { selfSignedCertificate } from '../../test/support/certificate.ts';
import { keyHash } from './fixtures.ts';

export interface DynamoDbStub {
  /** Environment variables that make a function use and trust it. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const request = z.object({ TableName: z.string() });

/**
 * Answers like DynamoDB, with a delay and over TLS: a first request includes a handshake, which DynamoDB Local does not
 * support.
 *
 * @param waitMs milliseconds for each answer
 */
export async function startDynamoDbStub(waitMs: number): Promise<DynamoDbStub> {
  const answers = dynamoDbAnswers();
  const { key, certificate } = selfSignedCertificate('localhost');
  const directory = await mkdtemp(join(tmpdir(), 'animal-store-bench-'));
  const certificateFile = join(directory, 'certificate.pem');
  await writeFile(certificateFile, certificate);
  const server = createServer({ key, cert: certificate }, (incoming, outgoing) => {
    const operation = String(incoming.headers['x-amz-target']).split('.').at(-1);
    void json(incoming).then((body) => {
      outgoing.setHeader('Content-Type', 'application/x-amz-json-1.0');
      const answer = JSON.stringify(answers[`${operation} ${request.parse(body).TableName}`] ?? {});
      if (waitMs === 0) outgoing.end(answer);
      else setTimeout(() => outgoing.end(answer), waitMs);
    });
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

/** By call and table: a page of animals, one animal, one key, and the first request of a window counted. Others: `{}`. */
function dynamoDbAnswers(): Readonly<Record<string, unknown>> {
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
  return {
    'Query Pets': { Items: Array.from({ length: 21 }, (_, index) => animal(1_000 - index)) },
    'GetItem Pets': { Item: animal(7) },
    'UpdateItem RateLimits': { Attributes: { keyHash: { S: keyHash }, ...minute, ...day } },
    'GetItem ApiKeys': { Item: { keyHash: { S: keyHash }, ...key } },
  };
}
