import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type StackDefinition,
  type StackDefinitionOptions,
  readStackDefinition,
} from './stack-definition.ts';
import type { AssemblySource } from './types.ts';

/** Reads the deployments of one stack, one after the other. */
export class AssemblyReader {
  readonly #stackId: string | undefined;
  readonly #options: StackDefinitionOptions;
  readonly #directory: string;
  readonly #onProgress: (message: string) => void;
  #reads = 0;

  /** @param directory receives assemblies while they are read, and the copies of functions' code */
  constructor(
    stackId: string | undefined,
    options: StackDefinitionOptions,
    directory: string,
    onProgress: (message: string) => void,
  ) {
    this.#stackId = stackId;
    this.#options = options;
    this.#directory = directory;
    this.#onProgress = onProgress;
  }

  /** @throws Error naming what is missing, malformed or not supported */
  async read(source: AssemblySource): Promise<StackDefinition> {
    this.#reads += 1;
    const copies = join(this.#directory, String(this.#reads));
    if (typeof source === 'string') return readStackDefinition(source, this.#stackId, copies, this.#options);
    this.#onProgress('Synthesizing the stack');
    const assembly = join(this.#directory, 'assembly');
    await mkdir(assembly);
    try {
      const written = (await source(assembly)) ?? assembly;
      return await readStackDefinition(written, this.#stackId, copies, this.#options);
    } finally {
      await rm(assembly, { recursive: true, force: true });
    }
  }
}
