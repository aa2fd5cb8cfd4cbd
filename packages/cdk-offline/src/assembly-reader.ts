import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Deployment, type DeploymentOptions, readDeployment } from './deployment.ts';
import type { AssemblySource } from './offline-service.ts';

/** Reads the deployments of one stack, one after the other. */
export class AssemblyReader {
  readonly #stackId: string | undefined;
  readonly #options: DeploymentOptions;
  readonly #directory: string;
  readonly #onProgress: (message: string) => void;
  #reads = 0;

  /** @param directory receives assemblies while they are read, and the copies of functions' code */
  constructor(
    stackId: string | undefined,
    options: DeploymentOptions,
    directory: string,
    onProgress: (message: string) => void,
  ) {
    this.#stackId = stackId;
    this.#options = options;
    this.#directory = directory;
    this.#onProgress = onProgress;
  }

  /** @throws Error naming what is missing, malformed or not supported */
  async read(source: AssemblySource): Promise<Deployment> {
    this.#reads += 1;
    const copies = join(this.#directory, String(this.#reads));
    if (typeof source === 'string') return readDeployment(source, this.#stackId, copies, this.#options);
    this.#onProgress('Synthesizing the stack');
    const assembly = join(this.#directory, 'assembly');
    await mkdir(assembly);
    try {
      const written = (await source(assembly)) ?? assembly;
      return await readDeployment(written, this.#stackId, copies, this.#options);
    } finally {
      await rm(assembly, { recursive: true, force: true });
    }
  }
}
