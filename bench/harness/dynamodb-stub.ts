import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import * as z from 'zod';
import { selfSignedCertificate } from '../../test/support/certificate.ts';

export interface DynamoDbStub {
  /** The variables that make a function use it, and trust it. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** `<operation> <table>`, such as `GetItem Pets`. */
export type Call = `${string} ${string}`;

const request = z.object({ TableName: z.string() });

/**
 * Something that answers like DynamoDB, at once and over TLS: what a first request costs beyond DynamoDB's own time
 * includes a handshake, which DynamoDB Local cannot show.
 */
export async function startDynamoDbStub(answers: Readonly<Record<Call, unknown>>): Promise<DynamoDbStub> {
  const { key, certificate } = selfSignedCertificate('localhost');
  const directory = await mkdtemp(join(tmpdir(), 'animal-store-bench-'));
  const certificateFile = join(directory, 'certificate.pem');
  await writeFile(certificateFile, certificate);
  const server = createServer({ key, cert: certificate }, (incoming, outgoing) => {
    const operation = String(incoming.headers['x-amz-target']).split('.').at(-1);
    void buffer(incoming).then((body) => {
      const { TableName: table } = request.parse(JSON.parse(body.toString()));
      outgoing.setHeader('Content-Type', 'application/x-amz-json-1.0');
      outgoing.end(JSON.stringify(answers[`${operation} ${table}`]));
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
