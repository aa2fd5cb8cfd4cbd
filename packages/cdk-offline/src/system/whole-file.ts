import { rename, writeFile } from 'node:fs/promises';

/** Replaces a file, for its owner only. Whenever the process ends, the file is the old or the new one, and whole. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  await writeFile(temporary, text, { mode: 0o600 });
  await rename(temporary, path);
}
