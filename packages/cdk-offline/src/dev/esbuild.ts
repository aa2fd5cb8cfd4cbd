import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import type * as esbuild from 'esbuild';
import type { BuildContext, BuildFailure, BuildOptions } from 'esbuild';
import type { OfflineService, ServedFunction } from '../service/types.ts';
import { withoutInlineMap } from '../lambda/code.ts';
import { temporaryDirectory } from '../system/temporary-directory.ts';
import type { BuildOutcome, FunctionBuilds } from './watch.ts';

// Not by `import`, which would load it before the check of Node.js, and fail where it is not installed.
const require = createRequire(import.meta.url);
const { build: buildOnce, context, formatMessages } = require('esbuild') as typeof esbuild;

export interface FunctionSources {
  /**
   * The functions' code. A change there is synthesized only when the app imports the file. When absent: the files that the
   * functions are built from.
   */
  readonly folder?: string | undefined;
  /** The entry file of the app. When absent every change is synthesized, after the functions are built. */
  readonly app: string | undefined;
  /** esbuild's options for a function; `undefined` for one that is not built. Called again after each synthesis. */
  readonly bundle: (
    served: ServedFunction,
    outputDirectory: string,
  ) => BuildOptions | undefined | Promise<BuildOptions | undefined>;
}

/** An incremental build of one function. */
interface Build {
  readonly context: BuildContext;
  /** What the context was made of, as text. */
  readonly options: string;
  readonly outputDirectory: string;
  /** The folder that paths of the build are relative to. */
  readonly project: string;
  /** Absolute paths of the input files of the last successful build. */
  inputs: ReadonlySet<string>;
  /** Its output files, without source maps, relative to `outputDirectory`. */
  scripts: readonly string[];
  /** Build it again with the next change of any file: a missing input can be anywhere. */
  failed: boolean;
  /** The code that is served, without its source map. */
  code: string;
}

/** For `watch`: builds the functions of a service with esbuild, in well under a second. */
export function buildFunctions(
  sources: FunctionSources,
): (service: OfflineService) => Promise<FunctionBuilds> {
  return (service) => EsbuildBuilds.start(service, sources);
}

class EsbuildBuilds implements FunctionBuilds {
  readonly #service: OfflineService;
  readonly #sources: FunctionSources;
  readonly #directory = temporaryDirectory();
  /** By the functions' logical IDs. */
  readonly #builds = new Map<string, Build>();
  /** `undefined` when they are not known. */
  #appFiles: ReadonlySet<string> | undefined;
  /** esbuild answers a build that is asked for during another one with the other, which may have read older files. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(service: OfflineService, sources: FunctionSources) {
    this.#service = service;
    this.#sources = sources;
  }

  static async start(service: OfflineService, sources: FunctionSources): Promise<EsbuildBuilds> {
    const builds = new EsbuildBuilds(service, sources);
    await builds.learn();
    return builds;
  }

  isOfApp(file: string): boolean {
    const { folder } = this.#sources;
    const isOfFunctions =
      folder === undefined
        ? [...this.#builds.values()].some(({ inputs }) => inputs.has(file))
        : !relative(resolve(folder), file).startsWith('..');
    return !isOfFunctions || this.#appFiles?.has(file) !== false;
  }

  learn(): Promise<void> {
    return this.#inTurn(() => this.#learn());
  }

  async #learn(): Promise<void> {
    const { functions } = this.#service;
    for (const served of functions) await this.#open(served);
    await Promise.all(
      functions.map(async ({ logicalId, directory }) => {
        const found = this.#builds.get(logicalId);
        if (found === undefined) return;
        const built = await build(found).catch(() => undefined);
        found.code = await codeIn(directory, found);
        // Saved after the assembly was written.
        found.failed = built !== found.code;
        if (!found.failed && (await hasOwnMap(directory, found)))
          await this.#service.replaceCode(logicalId, found.outputDirectory);
      }),
    );
    const { app } = this.#sources;
    this.#appFiles = app === undefined ? undefined : await importsOf(resolve(app));
  }

  get count(): number {
    return this.#builds.size;
  }

  apply(files: readonly string[]): Promise<BuildOutcome[]> {
    return this.#inTurn(() => this.#apply(files));
  }

  async #apply(files: readonly string[]): Promise<BuildOutcome[]> {
    const replacements: Promise<BuildOutcome>[] = [];
    for (const { logicalId, label: name } of this.#service.functions) {
      const found = this.#builds.get(logicalId);
      if (found === undefined || !(found.failed || files.some((file) => found.inputs.has(file)))) continue;
      const building = build(found);
      replacements.push(
        this.#replace(logicalId, found, building).then(
          (isChanged) => ({ name, isChanged }),
          (error: unknown) => ({ name, isChanged: true, error }),
        ),
      );
      // One build after the other, so that the function in use does not wait for the others.
      await building.catch(() => {});
    }
    return Promise.all(replacements);
  }

  /** The text of a build error, with file, line and source code; `undefined` for other errors. */
  async describe(error: unknown): Promise<string | undefined> {
    if (!isBuildFailure(error)) return undefined;
    const color = process.stderr.hasColors?.() ?? false;
    return (await formatMessages(error.errors, { kind: 'error', color })).join('').trimEnd();
  }

  async stop(): Promise<void> {
    for (const { context: open } of this.#builds.values()) await open.dispose();
    await this.#directory.remove();
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#last.then(step, step);
    this.#last = result;
    return result;
  }

  /** @returns whether the code differs from the code that is served */
  async #replace(logicalId: string, found: Build, building: Promise<string>): Promise<boolean> {
    found.failed = true;
    const code = await building;
    const isChanged = code !== found.code;
    if (isChanged) await this.#service.replaceCode(logicalId, found.outputDirectory);
    found.code = code;
    found.failed = false;
    return isChanged;
  }

  async #open(served: ServedFunction): Promise<void> {
    const outputDirectory = join(this.#directory.path, served.logicalId);
    const given = await this.#sources.bundle(served, outputDirectory);
    const options = JSON.stringify(given);
    const before = this.#builds.get(served.logicalId);
    if (before !== undefined && before.options === options) return;
    this.#builds.delete(served.logicalId);
    await before?.context.dispose();
    if (given === undefined) return;
    const project = given.absWorkingDir ?? process.cwd();
    this.#builds.set(served.logicalId, {
      options,
      context: await context({ ...given, absWorkingDir: project, metafile: true, logLevel: 'silent' }),
      outputDirectory,
      project,
      inputs: new Set(),
      scripts: [],
      failed: false,
      code: '',
    });
  }
}

/** @returns the code. @throws BuildFailure, see `describe` */
async function build(one: Build): Promise<string> {
  const { metafile } = await one.context.rebuild();
  const absolute = (paths: object = {}) => Object.keys(paths).map((path) => resolve(one.project, path));
  one.inputs = new Set(absolute(metafile?.inputs));
  one.scripts = absolute(metafile?.outputs)
    .filter((path) => !path.endsWith('.map'))
    .map((path) => relative(one.outputDirectory, path));
  return codeIn(one.outputDirectory, one);
}

/** The code of a build in a folder, empty when it is not there. */
async function codeIn(directory: string, one: Build): Promise<string> {
  return (await textsIn(directory, one)).map((text) => withoutInlineMap(text)).join('');
}

function textsIn(directory: string, { scripts }: Build): Promise<string[]> {
  return Promise.all(scripts.map((script) => readFile(join(directory, script), 'utf8').catch(() => '')));
}

/** Whether a build has a source map, and the code in the folder has none. */
async function hasOwnMap(directory: string, one: Build): Promise<boolean> {
  const [served, built] = await Promise.all([textsIn(directory, one), textsIn(one.outputDirectory, one)]);
  const isMapped = (text: string) => text.includes('\n//# sourceMappingURL=');
  return built.some(isMapped) && !served.some(isMapped);
}

/** Absolute paths of the files that a script imports, those of packages excepted. */
async function importsOf(script: string): Promise<Set<string>> {
  const project = dirname(script);
  const { metafile } = await buildOnce({
    absWorkingDir: project,
    entryPoints: [script],
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  return new Set(Object.keys(metafile.inputs).map((path) => resolve(project, path)));
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors) && 'warnings' in error;
}
