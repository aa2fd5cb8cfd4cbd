import { execFile } from 'node:child_process';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { selfSignedCertificate } from '../../support/certificate.ts';

// An emulator of AWS has an address and a certificate of its own.

const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
const { key, certificate } = selfSignedCertificate('localhost');
const bundle = join(folder, 'ca.pem');
writeFileSync(bundle, certificate);
/** What was asked over TLS. */
let calls = 0;
const server = createServer({ key, cert: certificate }, (request, response) => {
  calls += 1;
  request.resume();
  response.writeHead(400).end('{"__type":"ValidationException","message":"no"}');
});
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** @returns how many calls reached the server */
async function callsOf(
  args: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<number> {
  calls = 0;
  const { port } = server.address() as AddressInfo;
  const env = {
    PATH: process.env['PATH'],
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    HOME: folder,
    AWS_ENDPOINT_URL: `https://localhost:${port}`,
    AWS_REGION: 'eu-west-3',
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'secret',
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_MAX_ATTEMPTS: '1',
    ...variables,
  };
  await new Promise((resolve) => {
    execFile(process.execPath, ['tools/run.mjs', ...args], { env }, resolve);
  });
  return calls;
}

const commands = [
  'deploy staging',
  'roll-back staging HEAD',
  'keys list --stage staging',
  'pets show 1 --stage staging',
];

test.each(commands)('%s calls an endpoint whose certificate a variable names', async (command) => {
  expect(await callsOf(command.split(' '), { AWS_CA_BUNDLE: bundle })).toBeGreaterThan(0);
});

test('without the variable the certificate is refused, and the variable of Node.js does as well', async () => {
  const args = ['keys', 'list', '--stage', 'staging'];
  expect(await callsOf(args, {})).toBe(0);
  expect(await callsOf(args, { NODE_EXTRA_CA_CERTS: bundle })).toBeGreaterThan(0);
});
