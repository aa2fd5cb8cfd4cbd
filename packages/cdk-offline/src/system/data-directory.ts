import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

/**
 * Creates the directory, readable by its owner only, and checks that files can be written there.
 *
 * @throws Error that names the option
 */
export async function prepareDataDirectory(directory: string): Promise<void> {
  try {
    await prepare(resolve(directory));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`--data ${directory} cannot be used: ${reason}. Choose another path.`, { cause: error });
  }
}

/** One directory at a time: on /proc, `mkdir` with `recursive` never returns. */
async function prepare(directory: string): Promise<void> {
  const found = await stat(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found === undefined) {
    await prepare(dirname(directory));
    return mkdir(directory, { mode: 0o700 });
  }
  if (!found.isDirectory()) throw new Error(`${directory} is a file`);
  // For root `access` succeeds in every directory, also on a read-only file system.
  const probe = await mkdtemp(join(directory, '.check-')).catch((error: unknown) => {
    throw new Error(`${directory} is not writable`, { cause: error });
  });
  await rm(probe, { recursive: true });
}
