import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { unlink } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { ToolError } from '../command-line/errors.ts';

/**
 * Lets one process of this machine work on a file. The lock is a local socket, which the system closes when the process ends,
 * however it ends. `cdk-offline` locks directories in the same way, which its interface does not offer.
 *
 * @param what the work, for the message: `import of animals.jsonl`
 * @returns releases the lock
 * @throws ToolError if another process has the lock
 */
export async function lockFile(path: string, what: string): Promise<() => void> {
  const id = createHash('sha256').update(path).digest('hex').slice(0, 24);
  const address = addressOf(`animal-store-${id}`);
  const server = createServer((socket) => socket.end()).unref();
  const listen = async () => {
    server.listen(address);
    await once(server, 'listening');
  };
  try {
    await listen().catch(async (error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || (await isAnswered(address))) throw error;
      // The socket file of a process that was killed.
      await unlink(address);
      await listen();
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new ToolError('refused', `Another ${what} is running. Wait until it ends.`, { cause: error });
  }
  return () => void server.close();
}

/** Without a file on Linux and Windows. On macOS the path must be short. */
function addressOf(name: string): string {
  if (process.platform === 'linux') return `\0${name}`;
  return process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : `/tmp/${name}.sock`;
}

async function isAnswered(address: string): Promise<boolean> {
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
