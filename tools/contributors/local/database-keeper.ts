import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { Agent, createServer, type IncomingMessage, request as send } from 'node:http';
import { join } from 'node:path';
import type { KeeperOptions } from './database.ts';
import { isLocalHost } from './http.ts';
import { freePort, isPortFree } from './ports.ts';

/**
 * The process between the service and the database. It ends the database when the channel to the service closes, which
 * also happens when the service is killed. Of Dynoxide, it answers programs and no browsers: a page of any site can send requests to
 * 127.0.0.1, and Dynoxide permits each origin to read its answers.
 */

const options = JSON.parse(process.argv[2] ?? '') as KeeperOptions;

// Only the owner can read the data files.
process.umask(0o077);
let lastError = '';
start().then(keep, (error: Error) => report(error.message));

function keep(child: ChildProcess): void {
  const end = () => child.kill('SIGKILL');
  process.on('disconnect', end);
  child.on('exit', (code, signal) => {
    rmSync(options.temporaryFolder, { recursive: true, force: true });
    report(signal ?? [`exit code ${code}`, lastError].filter((part) => part !== '').join(': '));
  });
  child.on('error', (error) => {
    if (child.pid === undefined) report(error.message);
  });
  // The service may have ended before, which the channel may not know yet.
  if (process.connected) process.send?.({ pid: child.pid }, (error: Error | null) => error && end());
  else end();
}

/** Tells the service why the database has ended. */
function report(ended: string): void {
  if (process.connected) process.send?.({ ended }, () => process.exit());
  else process.exit();
}

function start(): Promise<ChildProcess> {
  return options.program === undefined ? startDynamoDbLocal() : startDynoxide(options.program);
}

async function startDynoxide(program: string): Promise<ChildProcess> {
  const address = await hiddenAddress();
  await forwardPrograms(address);
  const data = options.dataFolder === undefined ? [] : ['--db-path', join(options.dataFolder, 'dynoxide.db')];
  const dynoxide = spawn(program, ['--host', address.host, '--port', String(address.port), ...data], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  dynoxide.stderr.on('data', (chunk: Buffer) => (lastError = chunk.toString().trim()));
  return dynoxide;
}

async function startDynamoDbLocal(): Promise<ChildProcess> {
  const { default: launcher } = await import('dynamodb-local');
  const javaOptions = `
# Without Java's second compiler, which uses one processor for the first minute.
-XX:TieredStopAtLevel=1
# Collects a small heap with less processor time than the default collector.
-XX:+UseSerialGC
# Writes no file outside of the temporary folder.
-XX:-UsePerfData
-Djava.io.tmpdir=${JSON.stringify(options.temporaryFolder)}
`;
  // The launcher takes one option, so this is a file of them.
  const optionsFile = join(options.temporaryFolder, 'java-options');
  writeFileSync(optionsFile, javaOptions);
  launcher.configureInstaller({ installPath: options.installPath ?? '' });
  return launcher.launch(options.port, options.dataFolder, [], false, undefined, `@${optionsFile}`);
}

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Browsers connect to none of them. https://fetch.spec.whatwg.org/#port-blocking */
const blockedPorts = [
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
  10_080,
];

/** One of 2^38 addresses or, on macOS, where 127.0.0.1 is the only address, a port that browsers block. */
async function hiddenAddress(): Promise<Address> {
  if (process.platform !== 'darwin') {
    const host = `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}`;
    return { host, port: await freePort() };
  }
  const ports = blockedPorts.map((port) => ({ port, order: randomInt(1_000_000) }));
  for (const { port } of ports.toSorted((one, other) => one.order - other.order))
    if (await isPortFree(port)) return { host: '127.0.0.1', port };
  throw new Error(
    `Dynoxide needs one of these ports: ${blockedPorts.join(', ')}. Stop what listens on them.`,
  );
}

/** Forwards what programs send to the port. @throws Error when the port is in use */
async function forwardPrograms({ host, port }: Address): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const server = createServer((request, response) => {
    const refuse = (status: number, type: string, message: string): void => {
      response.writeHead(status, { 'Content-Type': 'application/x-amz-json-1.0', Connection: 'close' });
      response.end(JSON.stringify({ __type: type, message }));
    };
    if (isOfBrowser(request)) {
      const message = 'The local database answers no browser, and programs only at 127.0.0.1 or localhost.';
      refuse(403, 'AccessDeniedException', message);
      return;
    }
    const { method, url: path, rawHeaders: headers } = request;
    const forwarded = send({ agent, host, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.rawHeaders);
      answer.on('error', () => response.destroy());
      answer.pipe(response);
    });
    // An error of either side ends this exchange and nothing else.
    forwarded.on('error', ({ message }) => {
      if (response.headersSent) response.destroy();
      else refuse(503, 'ServiceUnavailable', `The local database does not answer: ${message}`);
    });
    for (const stream of [request, response]) stream.on('error', () => forwarded.destroy());
    // The client is gone. Otherwise its connection may be used for another request already.
    response.on('close', () => response.writableFinished || forwarded.destroy());
    request.pipe(forwarded);
  });
  // As Dynoxide: clients close connections.
  server.keepAliveTimeout = 0;
  server.listen({ port: options.port, host: '127.0.0.1' });
  await once(server, 'listening');
}

/** Browsers send one of these headers to an address of this machine, and a Host of their own after DNS rebinding. */
function isOfBrowser({ headers }: IncomingMessage): boolean {
  const ofBrowsers = headers.origin ?? headers['sec-fetch-site'] ?? headers['access-control-request-method'];
  return ofBrowsers !== undefined || !isLocalHost(headers.host);
}
