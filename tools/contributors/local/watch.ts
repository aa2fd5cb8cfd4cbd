import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
// `fs.watch` misses a file after its first save by rename on Linux, and blocks the process while thousands of files appear.
import { watch as watchFolders } from 'chokidar';
import {
  build,
  type BuildContext,
  type BuildFailure,
  context,
  formatMessages,
  type Metafile,
  type OutputFile,
} from 'esbuild';
import { bundleOptions } from '../../../lib/bundler/bundle.ts';
import { temporaryFolder } from './folders.ts';
import { clock } from './request-log.ts';
import { type LocalService, RestartNeeded } from './serve.ts';

/** `npm run dev`: applies what is saved. A change that cannot be applied has no effect. */

/** Editors save a file in several steps. */
const quietMs = 30;

export interface WatchOptions {
  /** The folder of cdk.json. */
  readonly project: string;
  /** When the synthesis of what is served started, in milliseconds since the Unix epoch: what was saved later is applied at once. */
  readonly since: number;
  /** Writes the assembly of the changed app into a folder. */
  readonly synthesize: (folder: string) => Promise<void>;
  /** Called with what was applied, and with the error of a change that was not. */
  readonly onMessage: (message: string) => void;
}

/** The incremental build of a function. */
interface Build {
  readonly context: BuildContext<{ metafile: true; write: false }>;
  /** Absolute paths of the input files of the last successful build. */
  inputs: ReadonlySet<string>;
  /** Build it again with the next change of any file: a missing input can be anywhere. */
  failed: boolean;
  /** What is served. */
  code: string;
  /** Where that is, unless it is in an assembly. */
  folder?: string;
}

/** What became of a change. */
interface Outcome {
  readonly name: string;
  readonly isChanged: boolean;
  readonly error?: unknown;
}

/** @returns stops watching */
export async function watch(service: LocalService, options: WatchOptions): Promise<() => Promise<void>> {
  const changes = await Changes.start(service, options);
  const { project, since, onMessage } = options;
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let isReady = false;
  const watcher = watchFolders(
    ['bin', 'lib', 'functions'].map((name) => join(project, name)),
    { alwaysStat: true, atomic: false, ignored: /[\\/]node_modules(?:[\\/]|$)/ },
  );
  watcher.on('all', (event, path, stats) => {
    // At first every file is added.
    if (!isReady && (event !== 'add' || stats === undefined || stats.mtimeMs <= since)) return;
    if (event === 'addDir' || event === 'unlinkDir') return;
    changed.add(path);
    clearTimeout(timer);
    timer = setTimeout(() => {
      const files = [...changed];
      changed.clear();
      void changes.apply(files);
    }, quietMs);
  });
  watcher.on('error', (error) => onMessage(`Changes may be missed: ${String(error)}`));
  await once(watcher, 'ready');
  isReady = true;
  return async () => {
    await watcher.close();
    clearTimeout(timer);
    await changes.stop();
  };
}

const theStack = 'the stack';

class Changes {
  readonly #service: LocalService;
  readonly #options: WatchOptions;
  readonly #folder = temporaryFolder();
  /** By function. */
  readonly #builds = new Map<string, Build>();
  /** What the app imports. */
  #appFiles: ReadonlySet<string> = new Set();
  /** The names of what differs from the files because its change was refused. */
  readonly #refused = new Set<string>();
  readonly #contents = new Map<string, string>();
  /** Steps that change what is served run one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #written = 0;
  #isSynthesisFailed = false;
  #isAppChanged = false;
  #synthesizing: Promise<void> | undefined;

  private constructor(service: LocalService, options: WatchOptions) {
    this.#service = service;
    this.#options = options;
  }

  static async start(service: LocalService, options: WatchOptions): Promise<Changes> {
    const changes = new Changes(service, options);
    await changes.#learn();
    return changes;
  }

  async apply(files: readonly string[]): Promise<void> {
    const differs = await Promise.all(files.map((file) => this.#differs(file)));
    const different = files.filter((_, index) => differs[index]);
    if (different.length === 0) return;
    const isOfApp = different.some((file) => this.#isSynthesisFailed || this.#isOfApp(file));
    const tried = await this.#inTurn(() => this.#report(() => this.#build(different)));
    if (!isOfApp) {
      this.#reportStill(tried);
      return;
    }
    // Functions do not wait for it: they take a fraction of a second, a synthesis takes several.
    this.#isAppChanged = true;
    this.#synthesizing ??= this.#synthesize().finally(() => (this.#synthesizing = undefined));
  }

  async stop(): Promise<void> {
    this.#isAppChanged = false;
    await this.#synthesizing;
    await this.#last;
    for (const { context: open } of this.#builds.values()) await open.dispose();
    this.#folder.remove();
  }

  /** A file that was written with the content of the change before did not change, unless that was not applied. */
  async #differs(file: string): Promise<boolean> {
    const content = await readFile(file).catch(() => '');
    const digest = createHash('sha256').update(content).digest('base64');
    if (this.#contents.get(file) === digest && this.#refused.size === 0) return false;
    this.#contents.set(file, digest);
    return true;
  }

  /** Whether the assembly can depend on the file otherwise than by the code of functions. */
  #isOfApp(file: string): boolean {
    const isOfFunctions = !relative(join(this.#options.project, 'functions'), file).startsWith('..');
    return !isOfFunctions || this.#appFiles.has(file);
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#last.then(step, step);
    this.#last = result.catch(() => {});
    return result;
  }

  async #synthesize(): Promise<void> {
    while (this.#isAppChanged) {
      this.#isAppChanged = false;
      this.#isSynthesisFailed = false;
      const startedAt = performance.now();
      this.#written += 1;
      const assembly = join(this.#folder.path, `assembly-${this.#written}`);
      const outcome = async (): Promise<Outcome> => {
        try {
          await mkdir(assembly);
          await this.#options.synthesize(assembly);
          return { name: theStack, isChanged: true };
        } catch (error) {
          this.#isSynthesisFailed = true;
          return { name: theStack, isChanged: true, error };
        }
      };
      const written = await outcome();
      const tried = await this.#inTurn(() =>
        this.#report(
          async () => [written.error === undefined ? await this.#update(assembly) : written],
          startedAt,
        ),
      );
      // What was saved during the synthesis may be in the assembly or not.
      const built = await this.#inTurn(() => this.#report(() => this.#build([])));
      this.#reportStill([...tried, ...built]);
    }
  }

  async #update(assembly: string): Promise<Outcome> {
    try {
      await this.#service.update(assembly);
      // It has the functions, too. What differs from the files again is built next.
      this.#refused.clear();
      await this.#learn();
      return { name: theStack, isChanged: true };
    } catch (error) {
      this.#isSynthesisFailed = !(error instanceof RestartNeeded);
      return { name: theStack, isChanged: true, error };
    }
  }

  /** Finds the files of the functions and of the app, and which functions are not served as their files say. */
  async #learn(): Promise<void> {
    const { project } = this.#options;
    for (const { label, file } of this.#service.functions) {
      const found = this.#builds.get(label) ?? (await this.#open(label));
      this.#builds.set(label, found);
      found.code = await readFile(file, 'utf8').catch(() => '');
      const built = await this.#rebuild(found).catch(() => []);
      found.failed = scriptOf(built)?.text !== found.code;
    }
    this.#appFiles = await importsOf(project);
  }

  async #open(label: string): Promise<Build> {
    const given = bundleOptions(`functions/${label}.ts`, {
      outputDirectory: join(this.#folder.path, label),
      development: true,
    });
    return {
      context: await context({ ...given, write: false, logLevel: 'silent' }),
      inputs: new Set(),
      failed: false,
      code: '',
    };
  }

  async #rebuild(found: Build): Promise<OutputFile[]> {
    const { metafile, outputFiles } = await found.context.rebuild();
    found.inputs = new Set(inputsOf(metafile, this.#options.project));
    return outputFiles;
  }

  /** Builds and replaces the functions that the files belong to. */
  async #build(files: readonly string[]): Promise<Outcome[]> {
    const outcomes: Promise<Outcome>[] = [];
    for (const { label: name, arn } of this.#service.functions) {
      const found = this.#builds.get(name);
      if (found === undefined || !(found.failed || files.some((file) => found.inputs.has(file)))) continue;
      const building = this.#rebuild(found);
      outcomes.push(
        this.#replace(arn, found, building).then(
          (isChanged) => ({ name, isChanged }),
          (error: unknown) => ({ name, isChanged: true, error }),
        ),
      );
      // One build after the other, so that the function in use does not wait for the others.
      await building.catch(() => {});
    }
    return Promise.all(outcomes);
  }

  /** @returns whether the code differs from the code that is served */
  async #replace(arn: string, found: Build, building: Promise<OutputFile[]>): Promise<boolean> {
    found.failed = true;
    const files = await building;
    const script = scriptOf(files);
    if (script === undefined) throw new Error('esbuild has written no script.');
    const isChanged = script.text !== found.code;
    if (isChanged) {
      // Node.js caches modules by path.
      this.#written += 1;
      const folder = join(this.#folder.path, `code-${this.#written}`);
      await mkdir(folder);
      for (const { path, contents } of files) await writeFile(join(folder, basename(path)), contents);
      await this.#service.replaceCode(arn, join(folder, basename(script.path)));
      found.code = script.text;
      if (found.folder !== undefined) await rm(found.folder, { recursive: true });
      found.folder = folder;
    }
    found.failed = false;
    return isChanged;
  }

  /** @returns the names of what was tried */
  async #report(step: () => Promise<readonly Outcome[]>, startedAt = performance.now()): Promise<string[]> {
    const outcomes = await step();
    const { onMessage } = this.#options;
    const milliseconds = Math.round(performance.now() - startedAt);
    const failed = outcomes.filter(({ error }) => error !== undefined);
    const done = outcomes.filter(({ error }) => error === undefined);
    const applied = done.filter(({ isChanged }) => isChanged);
    const undone = done.filter(({ name, isChanged }) => !isChanged && this.#refused.has(name));
    for (const { name } of done) this.#refused.delete(name);
    for (const { name } of failed) this.#refused.add(name);
    if (applied.length > 0) onMessage(`${clock()} Applied ${namesOf(applied)} (${milliseconds} ms)`);
    if (undone.length > 0) onMessage(`Undone: ${namesOf(undone)} is served as the files say.`);
    if (failed.length > 0) {
      // Functions share files, and so they share errors.
      const reasons = new Set(await Promise.all(failed.map(({ error }) => textOf(error))));
      onMessage(
        `${[...reasons].join('\n')}\nNot applied: ${namesOf(failed)}. The service goes on as before.`,
      );
    }
    return outcomes.map(({ name }) => name);
  }

  #reportStill(tried: readonly string[]): void {
    const still = [...this.#refused].filter((name) => !tried.includes(name));
    if (tried.length > 0 && still.length > 0)
      this.#options.onMessage(`Still not applied: ${still.join(', ')}.`);
  }
}

function scriptOf(files: readonly OutputFile[]): OutputFile | undefined {
  return files.find(({ path }) => path.endsWith('.mjs'));
}

function namesOf(outcomes: readonly Outcome[]): string {
  return outcomes.map(({ name }) => name).join(', ');
}

/** Of a build error, with file, line and source code. */
async function textOf(error: unknown): Promise<string> {
  if (!(error instanceof Error)) return String(error);
  if (!('errors' in error && 'warnings' in error)) return error.message;
  const color = process.stderr.hasColors?.() ?? false;
  const messages = await formatMessages((error as BuildFailure).errors, { kind: 'error', color });
  return messages.join('').trimEnd();
}

/** Absolute paths of the files that the CDK app imports, those of packages excepted. */
async function importsOf(project: string): Promise<Set<string>> {
  const { metafile } = await build({
    absWorkingDir: project,
    entryPoints: ['bin/animal-store.ts'],
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  return new Set(inputsOf(metafile, project));
}

function inputsOf({ inputs }: Metafile, project: string): string[] {
  return Object.keys(inputs).map((path) => resolve(project, path));
}
