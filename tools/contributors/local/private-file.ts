import { chmod, open, rename, stat } from 'node:fs/promises';

/** Only the owner can read the file. Whenever the process ends, it is the old or the new one, and whole. */
export function writePrivateJson(path: string, value: unknown): Promise<void> {
  return writePrivate(path, `${JSON.stringify(value, undefined, 2)}\n`);
}

export async function writePrivate(path: string, text: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  // It may be another kind of file, such as /dev/stdout, which cannot be replaced.
  const isReplaced = found === undefined || found.isFile();
  const target = isReplaced ? `${path}.new` : path;
  const file = await open(target, 'w', 0o600);
  try {
    await file.writeFile(text);
  } finally {
    await file.close();
  }
  if (!isReplaced) return;
  // The mode above applies only to new files.
  await chmod(target, 0o600);
  await rename(target, path);
}
