import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { realpath, unlink } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { text } from 'node:stream/consumers';

/**
 * Takes a directory for this process. The lock is a local socket: the system releases it when the process ends,
 * however it ends.
 *
 * @param directory exists
 * @returns releases the lock
 * @throws Error naming the process that holds the lock
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  const id = createHash('sha256')
    .update(await realpath(directory))
    .digest('hex')
    .slice(0, 24);
  const address = addressOf(id);
  const server = createServer((socket) => socket.end(String(process.pid)));
  try {
    await listen(server, address);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    const holder = await askHolder(address);
    if (holder !== undefined || !address.startsWith('/')) {
      throw new Error(
        `${directory} is in use by another service (process ${holder}). Stop it, or choose another directory.`,
        { cause: error },
      );
    }
    // A socket file that an ended process has left.
    await unlink(address);
    await listen(server, address);
  }
  server.unref();
  return async () => {
    const closed = once(server, 'close');
    server.close();
    await closed;
  };
}

/** Linux has names without a file, Windows has pipes, and macOS wants a short path. */
function addressOf(id: string): string {
  if (process.platform === 'linux') return `\0cdk-offline-${id}`;
  return process.platform === 'win32' ? `\\\\.\\pipe\\cdk-offline-${id}` : `/tmp/cdk-offline-${id}.sock`;
}

async function listen(server: Server, address: string): Promise<void> {
  const listening = once(server, 'listening');
  server.listen(address);
  await listening;
}

/** @returns the process ID of the holder, or `undefined` when there is none */
async function askHolder(address: string): Promise<string | undefined> {
  try {
    return await text(connect(address));
  } catch {
    return undefined;
  }
}
