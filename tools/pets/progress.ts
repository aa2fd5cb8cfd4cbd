import { readFile, rename, writeFile } from 'node:fs/promises';
import type { z } from 'zod';
import { ToolError } from '../command-line/errors.ts';

/** Files that say how far an import or an export got, so that the same command continues it. */

/** @returns `undefined` if there is no such file. @throws ToolError if it has something else */
export async function readProgress<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    const message = `${path} is not a progress file of this tool. Move it away to start from the beginning.`;
    throw new ToolError('refused', message, { cause: error });
  }
}

/** Replaces the file in one step, so that a crash leaves the old or the new progress. */
export async function writeProgress(path: string, progress: object): Promise<void> {
  const next = `${path}.next`;
  await writeFile(next, `${JSON.stringify(progress)}\n`);
  await rename(next, path);
}
