import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { type OfflineService, RestartNeeded } from 'cdk-offline';
import { describeBuildFailure, FunctionBuilds, isBuildFailure, projectDirectory } from './function-builds.ts';
import { synthesize } from './synthesize.ts';
import { watchFolders } from './watch.ts';

const folderOf = (name: string): string => join(projectDirectory, name);

export interface ReloadOptions {
  readonly onMessage: (message: string) => void;
  readonly inColour: boolean;
}

/** Applies changes of the project to a running service. A change that cannot be applied has no effect. */
export class Reloader {
  readonly #service: OfflineService;
  readonly #options: ReloadOptions;
  readonly #builds: FunctionBuilds;
  readonly #directory: string;
  /** Absolute paths of the CDK app's modules, some of them in functions/. */
  #appModules: ReadonlySet<string> = new Set();
  #stopWatching: () => void = () => {};

  private constructor(service: OfflineService, directory: string, options: ReloadOptions) {
    this.#service = service;
    this.#directory = directory;
    this.#builds = new FunctionBuilds(join(directory, 'builds'));
    this.#options = options;
  }

  /** Applies the changes saved from now on. */
  static async start(service: OfflineService, options: ReloadOptions): Promise<Reloader> {
    const directory = await mkdtemp(join(tmpdir(), 'reload-'));
    const reloader = new Reloader(service, directory, options);
    await reloader.#learn();
    const folders = ['functions', 'lib', 'bin'].map((name) => folderOf(name));
    reloader.#stopWatching = watchFolders(folders, (files) => reloader.#apply(files));
    return reloader;
  }

  async stop(): Promise<void> {
    this.#stopWatching();
    await this.#builds.dispose();
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #apply(files: readonly string[]): Promise<void> {
    const startedAt = performance.now();
    try {
      const applied = [...(await this.#applyApp(files)), ...(await this.#applyFunctions(files))];
      if (applied.length === 0) return;
      this.#options.onMessage(
        `Applied ${applied.join(', ')} (${Math.round(performance.now() - startedAt)} ms)`,
      );
    } catch (error) {
      const { onMessage, inColour } = this.#options;
      if (error instanceof RestartNeeded)
        return onMessage(`${error.message} Restart "npm run dev" to apply it.`);
      const text = isBuildFailure(error) ? await describeBuildFailure(error, inColour) : messageOf(error);
      onMessage(`${text}\nNot applied: the service goes on as before.`);
    }
  }

  async #applyFunctions(files: readonly string[]): Promise<string[]> {
    const results = await Promise.allSettled(
      this.#builds.affectedBy(files).map(async (entry) => ((await this.#replace(entry)) ? [entry] : [])),
    );
    const failure = results.find((result) => result.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
    return results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  }

  async #applyApp(files: readonly string[]): Promise<string[]> {
    const isOfApp = (file: string): boolean =>
      this.#appModules.has(file) || file.startsWith(folderOf('lib')) || file.startsWith(folderOf('bin'));
    if (!files.some((file) => isOfApp(file))) return [];
    const assembly = await mkdtemp(join(this.#directory, 'assembly-'));
    try {
      await synthesize(assembly);
      await this.#service.update({ assembly });
    } finally {
      await rm(assembly, { recursive: true, force: true });
    }
    await this.#learn();
    return ['the stack'];
  }

  /** @returns whether the code has changed */
  async #replace(entry: string): Promise<boolean> {
    const directory = await this.#builds.build(entry);
    const served = this.#service.functions.find(({ handler }) => handler === `${entry}.handler`);
    if (directory === undefined || served === undefined) return false;
    await this.#service.replaceCode(served.logicalId, directory);
    return true;
  }

  /** Finds the input files of the functions and of the CDK app. The stack already serves this code. */
  async #learn(): Promise<void> {
    const entries = this.#service.functions.map(({ handler }) => handler.replace(/\.handler$/, ''));
    await Promise.all(entries.map((entry) => this.#builds.build(entry)));

    const { metafile } = await build({
      absWorkingDir: projectDirectory,
      entryPoints: ['bin/animal-store.ts'],
      bundle: true,
      platform: 'node',
      format: 'esm',
      packages: 'external',
      write: false,
      metafile: true,
      logLevel: 'silent',
    });
    this.#appModules = new Set(Object.keys(metafile.inputs).map((file) => folderOf(file)));
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
