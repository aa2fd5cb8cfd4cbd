import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import * as z from 'zod';
import { selfSignedCertificate } from '../../test/support/certificate.ts';
import { keyHash, tableNames } from './fixtures.ts';

export interface DynamoDbStub {
  /** Environment variables that make a function use and trust it. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** `<operation> <table>`, such as `GetItem Pets`. */
export type Call = `${string} ${string}`;

const request = z.object({ TableName: z.string() });

/**
 * Answers like DynamoDB, with a delay and over TLS: a first request includes a handshake, which DynamoDB Local does not
 * support.
 *
 * @param waitMs milliseconds for each answer
 */
export async function startDynamoDbStub(
  answers: Readonly<Record<Call, unknown>>,
  waitMs = 0,
): Promise<DynamoDbStub> {
  const { key, certificate } = selfSignedCertificate('localhost');
  const directory = await mkdtemp(join(tmpdir(), 'animal-store-bench-'));
  const certificateFile = join(directory, 'certificate.pem');
  await writeFile(certificateFile, certificate);
  const server = createServer({ key, cert: certificate }, (incoming, outgoing) => {
    const operation = String(incoming.headers['x-amz-target']).split('.').at(-1);
    void buffer(incoming).then((body) => {
      const { TableName: table } = request.parse(JSON.parse(body.toString()));
      outgoing.setHeader('Content-Type', 'application/x-amz-json-1.0');
      const answer = JSON.stringify(answers[`${operation} ${table}`]);
      if (waitMs === 0) outgoing.end(answer);
      else setTimeout(() => outgoing.end(answer), waitMs);
    });
  });
  await new Promise<void>((done) => void server.listen(0, 'localhost', done));
  const { port } = server.address() as AddressInfo;
  return {
    environment: {
      AWS_ENDPOINT_URL_DYNAMODB: `https://localhost:${port}`,
      NODE_EXTRA_CA_CERTS: certificateFile,
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      await rm(directory, { recursive: true });
    },
  };
}

/** A page of animals, one animal, one key, and the first request of a window counted. */
export function dynamoDbAnswers(): Readonly<Record<Call, unknown>> {
  const { pets, apiKeys, rateLimits } = tableNames;
  const animal = (id: number) => ({
    id: { N: String(id) },
    name: { S: `Bella ${id}` },
    categoryId: { N: '3' },
    status: { S: 'available' },
  });
  const now = Math.floor(Date.now() / 1_000);
  return {
    [`Query ${pets}`]: { Items: Array.from({ length: 21 }, (_, index) => animal(1_000 - index)) },
    [`GetItem ${pets}`]: { Item: animal(7) },
    [`PutItem ${pets}`]: {},
    [`UpdateItem ${rateLimits}`]: {
      Attributes: {
        keyHash: { S: keyHash },
        minute: { N: String(now - (now % 60)) },
        minuteCount: { N: '1' },
        day: { N: String(now - (now % 86_400)) },
        dayCount: { N: '1' },
      },
    },
    [`GetItem ${apiKeys}`]: {
      Item: {
        keyHash: { S: keyHash },
        keyId: { S: 'key_bench' },
        plan: { S: 'free' },
        status: { S: 'active' },
      },
    },
  };
}
