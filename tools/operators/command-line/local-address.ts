import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** A file for each local service that runs, named by its process. The operator's tools use the one started last. */
const addressFolder = join(import.meta.dirname, '..', '..', '..', '.local', 'services');

const schema = z.object({
  endpoint: z.url(),
  /** The credentials for calls to AWS services at the endpoint. */
  credentials: z.object({
    accessKeyId: z.string(),
    secretAccessKey: z.string(),
    sessionToken: z.string(),
  }),
  /** Milliseconds since the Unix epoch. */
  startedAt: z.number(),
});

/** How the operator's tools reach a local service. */
export type LocalAddress = Omit<z.infer<typeof schema>, 'startedAt'>;

/**
 * Writes the address of this process's service for its owner, and removes it when the process exits.
 *
 * @param startedAt milliseconds since the Unix epoch
 */
export function announceAddress(
  { endpoint, credentials }: LocalAddress,
  startedAt: number,
  folder: string = addressFolder,
): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, `${process.pid}.json`);
  const address: z.infer<typeof schema> = { endpoint, credentials, startedAt };
  // A process of the same ID that was killed may have left one.
  rmSync(file, { force: true });
  writeFileSync(file, `${JSON.stringify(address)}\n`, { mode: 0o600, flag: 'wx' });
  process.once('exit', () => rmSync(file, { force: true }));
}

/** The service that was started last, of those of this user that run, at the port if one is given. */
export function readAddress(port?: number, folder: string = addressFolder): LocalAddress | undefined {
  const running = namesIn(folder).flatMap((name) => {
    if (!isRunning(Number.parseInt(name, 10))) return [];
    try {
      return schema.parse(JSON.parse(readFileSync(join(folder, name), 'utf8')));
    } catch {
      return []; // It has just ended, or belongs to another user.
    }
  });
  return running
    .filter(({ endpoint }) => port === undefined || new URL(endpoint).port === String(port))
    .toSorted((a, b) => a.startedAt - b.startedAt)
    .at(-1);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // No service was ever started.
  }
}

/** A killed process leaves its file. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
