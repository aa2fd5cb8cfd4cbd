import { mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRunning } from './processes.ts';

/** A new directory, which is also removed when the process exits. */
export function temporaryDirectory(parent = tmpdir()): {
  readonly path: string;
  readonly remove: () => Promise<void>;
} {
  removeLeftovers(parent);
  const path = mkdtempSync(join(parent, `${ownPrefix}${process.pid}-`));
  const remove = (): void => rmSync(path, { recursive: true, force: true });
  process.once('exit', remove);
  return {
    path,
    remove: async () => {
      process.off('exit', remove);
      remove();
    },
  };
}

/** With the name of the machine, because containers can share the folder. */
const ownPrefix = `cdk-offline-${hostname().replaceAll(/[^a-z\d]/gi, '_')}-`;

/** Removes the directories of processes that were killed. */
function removeLeftovers(parent: string): void {
  for (const name of readdirSync(parent)) {
    const pid = name.startsWith(ownPrefix) ? Number.parseInt(name.slice(ownPrefix.length), 10) : Number.NaN;
    if (Number.isNaN(pid) || isRunning(pid)) continue;
    try {
      rmSync(join(parent, name), { recursive: true, force: true });
    } catch {
      // It belongs to another user.
    }
  }
}

/** Less than this is full for what a start writes. */
const leastBytes = 1024 * 1024;

/** The error of a start, which begins with the temporary folder when that is full: everything else follows from it. */
export function withFullFolder(error: unknown): unknown {
  const folder = tmpdir();
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize >= leastBytes) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const advice = 'Free some of it, or set TMPDIR to another folder.';
  return new Error(`The temporary folder ${folder} is full. ${advice}\n${reason}`, { cause: error });
}
