import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { findDynoxide, findInstallation, javaEnvironment } from './database-engines.ts';
import { type Address, forwardPrograms, hiddenAddress } from './database-forwarder.ts';
import type { FromKeeper, KeeperOptions } from './database.ts';

/**
 * The process between the service and the database. It ends the database when the channel to the service closes, which
 * also happens when the service is killed.
 */

const { database, port, dataFolder, temporaryFolder } = JSON.parse(process.argv[2]!) as KeeperOptions;
const service = process.ppid;
const startTimeoutMs = 60_000;
/** For the database of a service that was killed. */
const leftoverTimeoutMs = 5_000;
const pollMs = 20;

/** What the database has written last to standard error. */
let lastError = '';
/** What is removed when it has ended. */
let files: string | undefined;

// Only the owner can read the data files.
process.umask(0o077);
keep().catch((error: Error) => report({ problem: error.message }));

async function keep(): Promise<void> {
  if (dataFolder !== undefined) await lock(dataFolder);
  const [child, address] = await (database === 'dynoxide' ? startDynoxide() : startDynamoDbLocal());
  const end = (): void => void child.kill('SIGKILL');
  process.on('disconnect', end);
  child.on('error', (error) => report({ problem: error.message }));
  child.on('exit', (code, signal) => {
    const unused = [files, process.connected ? undefined : temporaryFolder];
    for (const folder of unused) if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    report({ ended: signal ?? [`exit code ${code}`, lastError].filter((part) => part !== '').join(': ') });
  });
  // The service may have ended before.
  if (!process.connected) end();
  const deadline = Date.now() + startTimeoutMs;
  while (!(await isListening(address))) {
    if (Date.now() > deadline)
      throw new Error(`The database does not answer within ${startTimeoutMs / 1000} s.`);
    await sleep(pollMs);
  }
  process.send?.({ pid: child.pid! } satisfies FromKeeper);
}

/** The last message. */
function report(message: FromKeeper): void {
  if (process.connected) process.send?.(message, () => process.exit());
  else process.exit();
}

async function startDynoxide(): Promise<[ChildProcess, Address]> {
  const address = await hiddenAddress();
  await forwardPrograms(port, address);
  const data = dataFolder === undefined ? [] : ['--db-path', join(dataFolder, 'dynoxide.db')];
  const dynoxide = spawn(findDynoxide(), ['--host', address.host, '--port', String(address.port), ...data], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  dynoxide.stderr.on('data', (chunk: Buffer) => (lastError = chunk.toString().trim()));
  return [dynoxide, address];
}

async function startDynamoDbLocal(): Promise<[ChildProcess, Address]> {
  Object.assign(process.env, javaEnvironment(), { DDB_LOCAL_TELEMETRY: '0' });
  files = mkdtempSync(join(temporaryFolder ?? tmpdir(), 'dynamodb-local-'));
  const javaOptions = `
# Without Java's second compiler, which uses one processor for the first minute.
-XX:TieredStopAtLevel=1
# Collects a small heap with less processor time than the default collector.
-XX:+UseSerialGC
# Writes no file outside of the temporary folder.
-XX:-UsePerfData
-Djava.io.tmpdir=${JSON.stringify(files)}
`;
  // The launcher takes one option, so this is a file of them.
  const optionsFile = join(files, 'java-options');
  writeFileSync(optionsFile, javaOptions);
  const { default: launcher } = await import('dynamodb-local');
  launcher.configureInstaller({ installPath: findInstallation() });
  const java = await launcher.launch(port, dataFolder, [], false, undefined, `@${optionsFile}`);
  return [java, { host: '127.0.0.1', port }];
}

async function isListening(address: Address): Promise<boolean> {
  const socket = connect(address);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/**
 * Locks a folder for the service. The lock is a local socket, which the system releases when this process ends.
 *
 * @throws Error naming the service that holds the lock
 */
async function lock(folder: string): Promise<void> {
  const address = lockAddress(createHash('sha256').update(realpathSync(folder)).digest('hex').slice(0, 24));
  // Nothing is told for a service that has ended: the lock is free in a moment.
  const isInUse = (): boolean => process.connected && process.ppid === service;
  const server = createServer((socket) => socket.end(isInUse() ? String(service) : '')).unref();
  const deadline = Date.now() + leftoverTimeoutMs;
  for (;;) {
    try {
      await once(server.listen(address), 'listening');
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
    const holder = await text(connect(address)).catch(() => undefined);
    // On macOS, a process that was killed leaves the file of its socket.
    if (holder === undefined && address.startsWith('/')) rmSync(address, { force: true });
    if (holder || Date.now() > deadline)
      throw new Error(
        `${folder} is in use by another service (process ${holder || 'unknown'}). Stop it, or choose another directory.`,
      );
    await sleep(pollMs);
  }
}

/** An abstract socket on Linux, a named pipe on Windows; on macOS the path must be short. */
function lockAddress(id: string): string {
  if (process.platform === 'linux') return `\0animal-store-${id}`;
  return process.platform === 'win32' ? `\\\\.\\pipe\\animal-store-${id}` : `/tmp/animal-store-${id}.sock`;
}
