import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { apiKeySnapshot, type ApiKeySnapshot, type ApiKeyStore } from './api-keys.ts';
import { writePrivate } from './private-file.ts';

/** API Gateway's keys in the folder of `--data`. */

/** The keys of an earlier run, if any. @throws Error when the file is damaged */
export async function readKeys(file: string | undefined): Promise<ApiKeySnapshot | undefined> {
  if (file === undefined || !existsSync(file)) return undefined;
  const text = await readFile(file, 'utf8');
  try {
    return apiKeySnapshot.parse(JSON.parse(text));
  } catch (error) {
    const advice = 'Move it to another folder and start again without its API keys.';
    throw new Error(`${file} is damaged. ${advice}`, { cause: error });
  }
}

/** Writes the current keys; resolves when they, or newer ones, are in the file. Calls made during a write share the next write. */
export function savedInTurn(file: string | undefined, keys: ApiKeyStore): () => Promise<void> {
  let writing: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  return async () => {
    if (file === undefined) return;
    next ??= writing
      .catch(() => {}) // reported to the callers of that write
      .then(() => {
        next = undefined;
        writing = writePrivate(file, JSON.stringify(keys.snapshot()));
        return writing;
      });
    await next;
  };
}
