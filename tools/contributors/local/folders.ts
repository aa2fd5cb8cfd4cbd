import { ToolError } from '../../operators/command-line/errors.ts';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, stat, unlink } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';

/** The folder of `--data`, and temporary folders. */

/**
 * Creates the folder of `--data`, readable by its owner only, and checks that files can be written there.
 *
 * @throws Error that names the option
 */
export async function prepareDataFolder(folder: string): Promise<void> {
  try {
    await prepare(resolve(folder));
    if (isFull(folder)) throw new Error('no space left on its disk');
  } catch (error) {
    const message = `--data ${folder} cannot be used: ${(error as Error).message}. Choose another path.`;
    throw new ToolError(isFull(folder) ? 'failed' : 'usage', message, { cause: error });
  }
}

/** One folder at a time: on /proc, `mkdir` with `recursive` never returns. */
async function prepare(folder: string): Promise<void> {
  const found = await stat(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found === undefined) {
    await prepare(dirname(folder));
    return mkdir(folder, { mode: 0o700 });
  }
  if (!found.isDirectory()) throw new Error(`${folder} is a file`);
  // For root `access` succeeds in every folder, also on a read-only file system.
  const probe = await mkdtemp(join(folder, '.check-')).catch((error: unknown) => {
    const isFullDisk = (error as NodeJS.ErrnoException).code === 'ENOSPC';
    throw new Error(isFullDisk ? 'no space left on its disk' : `${folder} is not writable`, { cause: error });
  });
  await rm(probe, { recursive: true });
}

/** Less than this is full for what a start writes, in bytes. */
const leastSpace = 1024 * 1024;

function isFull(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, blocks, bsize } = statfsSync(folder);
  // Some that the system makes up, such as /proc, have none.
  return blocks > 0 && bavail * bsize < leastSpace;
}

/** The error of a start, which begins with the folder whose disk is full: everything else follows from it. */
export function withFullDisk(error: unknown, dataFolder: string | undefined): unknown {
  const folders = [...(dataFolder === undefined ? [] : [dataFolder]), tmpdir()];
  const full = folders.find((folder) => isFull(folder));
  const reason = (error as Error).message;
  if (full === undefined || /no space left/i.test(reason)) return error;
  const advice = full === dataFolder ? 'Choose another path with --data' : 'Set TMPDIR to another folder';
  const message = `No space left in ${full}. Free some of it. Or: ${advice}.`;
  return new Error(`${message}\n${reason}`, { cause: error });
}

const answerTimeoutMs = 5_000;

/**
 * Locks a folder for this process. The lock is a local socket, which the system releases when the process ends.
 *
 * @param folder must exist
 * @returns releases the lock
 * @throws Error naming the process that holds the lock
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const path = await realpath(folder);
  const id = createHash('sha256').update(path).digest('hex').slice(0, 24);
  const address = addressOf(id);
  const server = createServer((socket) => socket.end(String(process.pid)));
  const listen = async (): Promise<void> => {
    const listening = once(server, 'listening');
    server.listen(address);
    await listening;
  };
  try {
    await listen();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    const holder = await askHolder(address);
    if (holder !== undefined || !address.startsWith('/'))
      throw new Error(
        `${folder} is in use by another service (process ${holder}). Stop it, or choose another directory.`,
        { cause: error },
      );
    // The socket file of a process that was killed.
    await unlink(address);
    await listen();
  }
  server.unref();
  return async () => {
    const closed = once(server, 'close');
    server.close();
    await closed;
  };
}

/** An abstract socket on Linux, a named pipe on Windows; on macOS the path must be short. */
function addressOf(id: string): string {
  if (process.platform === 'linux') return `\0animal-store-${id}`;
  return process.platform === 'win32' ? `\\\\.\\pipe\\animal-store-${id}` : `/tmp/animal-store-${id}.sock`;
}

/** @returns the holder's process ID, or `undefined` when the socket file is not in use */
async function askHolder(address: string): Promise<string | undefined> {
  try {
    // A process that is suspended does not answer.
    const socket = connect(address);
    socket.setTimeout(answerTimeoutMs, () => socket.end());
    return (await text(socket)) || 'that does not answer';
  } catch {
    return undefined;
  }
}

/** With the name of the machine, because containers can share the folder. */
const ownPrefix = `animal-store-${hostname().replaceAll(/[^a-z\d]/gi, '_')}-`;

/** A new folder, which is also removed when the process exits. Removes those of processes that were killed. */
export function temporaryFolder(parent = tmpdir()): { readonly path: string; readonly remove: () => void } {
  for (const name of readdirSync(parent)) {
    const pid = name.startsWith(ownPrefix) ? Number.parseInt(name.slice(ownPrefix.length), 10) : Number.NaN;
    if (Number.isNaN(pid) || isRunning(pid)) continue;
    try {
      rmSync(join(parent, name), { recursive: true, force: true });
    } catch {
      // It belongs to another user.
    }
  }
  const path = mkdtempSync(join(parent, `${ownPrefix}${process.pid}-`));
  const removeNow = (): void => rmSync(path, { recursive: true, force: true });
  process.once('exit', removeNow);
  return {
    path,
    remove: () => {
      process.off('exit', removeNow);
      removeNow();
    },
  };
}

/** Whether the process exists, also as one of another user. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
