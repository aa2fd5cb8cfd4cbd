import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeWhole } from '../system/whole-file.ts';
import { type ApiKeySnapshot, apiKeySnapshot } from './store.ts';

/** Keeps the API keys between runs, in a file of the data directory. */
export class KeyFile {
  readonly #path: string;
  readonly #snapshot: () => ApiKeySnapshot;
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  /** @param take returns the current keys */
  constructor(dataDirectory: string, take: () => ApiKeySnapshot) {
    this.#path = pathIn(dataDirectory);
    this.#snapshot = take;
  }

  /** Writes the current keys; resolves when they, or newer ones, are in the file. The file is always complete. */
  save(): Promise<void> {
    // Calls made during a write share the next write.
    this.#next ??= this.#writing
      .catch(() => {}) // reported to the callers of that write
      .then(() => {
        this.#next = undefined;
        this.#writing = this.#write();
        return this.#writing;
      });
    return this.#next;
  }

  async #write(): Promise<void> {
    await writeWhole(this.#path, JSON.stringify(this.#snapshot()));
  }
}

/** The keys of an earlier run, if any. @throws Error when the file is damaged */
export async function readKeyFile(dataDirectory: string): Promise<ApiKeySnapshot | undefined> {
  const path = pathIn(dataDirectory);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  try {
    return apiKeySnapshot.parse(JSON.parse(text));
  } catch (error) {
    throw new Error(`${path} is damaged. Move it to another folder and start again without its API keys.`, {
      cause: error,
    });
  }
}

function pathIn(dataDirectory: string): string {
  return join(dataDirectory, 'gateway-keys.json');
}
