import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { ToolError } from '../command-line/errors.ts';

/**
 * Writes a file that does not exist yet. It gets its name when it is complete; a process that is killed leaves a file `.part`.
 *
 * @throws ToolError if there is such a file
 */
export async function writeNewFile(file: string, texts: AsyncIterable<string>): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found) throw new ToolError('refused', `${file} exists. Remove it, or choose another name.`);
  const part = `${file}.part`;
  try {
    await writeFile(part, texts, { flush: true });
    await rename(part, file);
  } finally {
    await rm(part, { force: true });
  }
}
