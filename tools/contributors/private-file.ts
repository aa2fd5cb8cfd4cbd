import { chmod, rename, writeFile } from 'node:fs/promises';

/** Only the owner can read the file. Whenever the process ends, it is the old or the new one, and whole. */
export async function writePrivateJson(path: string, value: unknown): Promise<void> {
  const part = `${path}.new`;
  await writeFile(part, `${JSON.stringify(value, undefined, 2)}\n`, { mode: 0o600 });
  // The mode above applies only to new files.
  await chmod(part, 0o600);
  await rename(part, path);
}
