import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** A file for each local service that runs, named by its process. The operator's tools use the one started last. */
const addressFolder = join(import.meta.dirname, '..', '..', '.local', 'services');

const schema = z.object({
  endpoint: z.url(),
  /** Milliseconds since the Unix epoch. */
  startedAt: z.number(),
});

/** @returns why no address can be written, or `undefined` when it can */
export function reasonNotToAnnounce(folder: string = addressFolder): string | undefined {
  try {
    mkdirSync(folder, { recursive: true });
    rmdirSync(mkdtempSync(join(folder, 'check-')));
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Writes the address of this process's service, and removes it when the process exits. */
export function announceAddress(endpoint: string, folder: string = addressFolder): void {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${process.pid}.json`);
  const address: z.infer<typeof schema> = { endpoint, startedAt: Date.now() };
  writeFileSync(file, `${JSON.stringify(address)}\n`);
  process.once('exit', () => rmSync(file, { force: true }));
}

/** The address of the service that was started last, of those that run; `undefined` if none does. */
export function readAddress(folder: string = addressFolder): string | undefined {
  const running = namesIn(folder).flatMap((name) => {
    if (!isRunning(Number.parseInt(name, 10))) return [];
    try {
      return schema.parse(JSON.parse(readFileSync(join(folder, name), 'utf8')));
    } catch {
      return []; // it has just ended
    }
  });
  return running.toSorted((a, b) => a.startedAt - b.startedAt).at(-1)?.endpoint;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // no service was ever started
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
