import { randomUUID } from 'node:crypto';
import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ToolError } from '../command-line/errors.ts';

/**
 * Writes a file that does not exist yet. It gets its name when it is complete; a process that is killed leaves a file `.part`.
 *
 * @throws ToolError if there is such a file
 */
export async function writeNewFile(file: string, texts: AsyncIterable<string>): Promise<void> {
  // A folder that does not exist is named by this call.
  await stat(dirname(file));
  await expectNone(file);
  // Another command that writes the same file has a part of its own.
  const part = `${file}.${randomUUID().slice(0, 8)}.part`;
  try {
    await writeFile(part, texts, { flag: 'wx', flush: true });
    await expectNone(file);
    await rename(part, file);
  } finally {
    await rm(part, { force: true });
  }
}

async function expectNone(file: string): Promise<void> {
  if ((await stat(file).catch(() => undefined)) === undefined) return;
  throw new ToolError('refused', `${file} exists. Remove it, or choose another name.`);
}
