import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { ToolError } from '../../operators/command-line/errors.ts';

/** The folder of `--data`, and the one of temporary files. */

/**
 * Creates the folder of `--data`, readable by its owner only, and checks that files can be written there.
 *
 * @throws Error that names the option
 */
export function prepareDataFolder(folder: string): void {
  try {
    prepare(resolve(folder));
    if (isFull(folder)) throw new Error('no space left on its disk');
  } catch (error) {
    const message = `--data ${folder} cannot be used: ${(error as Error).message}. Choose another path.`;
    throw new ToolError(isFull(folder) ? 'failed' : 'usage', message, { cause: error });
  }
}

/** One folder at a time: on /proc, `mkdir` with `recursive` never returns. */
function prepare(folder: string): void {
  if (!existsSync(folder)) {
    prepare(dirname(folder));
    mkdirSync(folder, { mode: 0o700 });
    return;
  }
  if (!statSync(folder).isDirectory()) throw new Error(`${folder} is a file`);
  try {
    // For root `access` succeeds in every folder, also on a read-only file system.
    rmdirSync(mkdtempSync(join(folder, '.check-')));
  } catch (error) {
    const isFullDisk = (error as NodeJS.ErrnoException).code === 'ENOSPC';
    throw new Error(isFullDisk ? 'no space left on its disk' : `${folder} is not writable`, { cause: error });
  }
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

/** A new folder, which is removed when this process exits. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
