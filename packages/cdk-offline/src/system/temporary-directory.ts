import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new directory, which is also removed when the process exits. */
export function temporaryDirectory(parent = tmpdir()): {
  readonly path: string;
  readonly remove: () => Promise<void>;
} {
  const path = mkdtempSync(join(parent, 'cdk-offline-'));
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
