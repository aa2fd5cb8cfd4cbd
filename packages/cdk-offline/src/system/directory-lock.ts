import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { realpath, unlink } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { text } from 'node:stream/consumers';

/**
 * Locks a directory for this process. The lock is a local socket, which the system releases when the process ends.
 *
 * @param directory must exist
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
    // The socket file of a process that was killed.
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

const answerTimeoutMs = 5_000;

/** An abstract socket on Linux, a named pipe on Windows; on macOS the path must be short. */
function addressOf(id: string): string {
  if (process.platform === 'linux') return `\0cdk-offline-${id}`;
  return process.platform === 'win32' ? `\\\\.\\pipe\\cdk-offline-${id}` : `/tmp/cdk-offline-${id}.sock`;
}

async function listen(server: Server, address: string): Promise<void> {
  const listening = once(server, 'listening');
  server.listen(address);
  await listening;
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
