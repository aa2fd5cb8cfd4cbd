import { chmodSync, renameSync, statSync, writeFileSync } from 'node:fs';

/** Only the owner can read the file. Whenever the process ends, it is the old or the new one, and whole. */
export function writePrivate(path: string, text: string): void {
  // It may be another kind of file, such as /dev/stdout, which cannot be replaced.
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) {
    writeFileSync(path, text);
    return;
  }
  const whole = `${path}.new`;
  writeFileSync(whole, text, { mode: 0o600 });
  // The mode above applies only to new files.
  chmodSync(whole, 0o600);
  renameSync(whole, path);
}

export function writePrivateJson(path: string, value: unknown): void {
  writePrivate(path, `${JSON.stringify(value, undefined, 2)}\n`);
}
