import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { ApiKeySnapshot } from './store.ts';

const snapshot = z.object({
  keys: z.array(
    z.object({
      id: z.string(),
      value: z.string(),
      name: z.string().optional(),
      description: z.string().optional(),
      enabled: z.boolean(),
      tags: z.record(z.string(), z.string()),
      createdAt: z.number(),
      updatedAt: z.number(),
    }),
  ),
  bindings: z.array(
    z.object({
      planId: z.string(),
      keyId: z.string(),
      use: z.record(z.string(), z.number()),
    }),
  ),
});

/** The API keys in a file beside the tables, so that both are kept between runs. */
export class KeyFile {
  readonly #path: string;
  readonly #snapshot: () => ApiKeySnapshot;
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  /** @param take the keys as they are now */
  constructor(dataDirectory: string, take: () => ApiKeySnapshot) {
    this.#path = pathIn(dataDirectory);
    this.#snapshot = take;
  }

  /** Resolves when the keys as they are now, or later ones, are in the file. Never leaves half a file. */
  save(): Promise<void> {
    // Calls made during a write share the one write that follows it.
    this.#next ??= this.#writing
      .catch(() => {}) // reported to those who waited for that write
      .then(() => {
        this.#next = undefined;
        this.#writing = this.#write();
        return this.#writing;
      });
    return this.#next;
  }

  async #write(): Promise<void> {
    const temporary = `${this.#path}.new`;
    await writeFile(temporary, JSON.stringify(this.#snapshot()), { mode: 0o600 });
    await rename(temporary, this.#path);
  }
}

/** What an earlier run saved. @throws Error when the file is damaged */
export async function readKeyFile(dataDirectory: string): Promise<ApiKeySnapshot | undefined> {
  const path = pathIn(dataDirectory);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  try {
    const { keys, bindings } = snapshot.parse(JSON.parse(text));
    return { keys: keys.map((key) => ({ name: undefined, description: undefined, ...key })), bindings };
  } catch (error) {
    throw new Error(`${path} is damaged: move it away and start again.`, { cause: error });
  }
}

function pathIn(dataDirectory: string): string {
  return join(dataDirectory, 'gateway-keys.json');
}
