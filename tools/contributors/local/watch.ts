import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
// `fs.watch` misses a file after its first save by rename on Linux, and blocks the process while thousands of files appear.
import { watch as watchFolders } from 'chokidar';
import { build, type BuildContext, type BuildFailure, context, formatMessages, type Metafile } from 'esbuild';
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

/** @returns stops watching */
export async function watch(service: LocalService, options: WatchOptions): Promise<() => Promise<void>> {
  const changes = new Changes(service, options);
  await changes.start();
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

/** The incremental build of a function. */
interface Build {
  readonly context: BuildContext<{ metafile: true; write: false }>;
  /** Absolute paths of the input files of the last successful build. Undefined: build it with the next step. */
  inputs: ReadonlySet<string> | undefined;
  /** It differs from the files: the next change of any file can be the missing one. */
  isRefused: boolean;
  /** What is served. */
  code: string;
  /** Where that is, unless it is in an assembly. */
  folder?: string;
}

class Changes {
  readonly #service: LocalService;
  readonly #options: WatchOptions;
  readonly #folder = temporaryFolder();
  /** By function. */
  readonly #builds = new Map<string, Build>();
  /** What the app imports. */
  #appFiles: ReadonlySet<string> = new Set();
  /** Steps that change what is served run one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #written = 0;
  #saved = 0;
  #isStopped = false;
  #isAppChanged = false;
  /** Files of functions can be the reason. */
  #isSynthesisFailed = false;
  #isSynthesizing = false;

  constructor(service: LocalService, options: WatchOptions) {
    this.#service = service;
    this.#options = options;
  }

  async start(): Promise<void> {
    await this.#inTurn(() => this.#readAssembly());
  }

  async apply(files: readonly string[]): Promise<void> {
    this.#saved += 1;
    // Functions do not wait for a synthesis: they take a fraction of a second, and it takes several.
    await this.#inTurn(() => this.#build(files));
    this.#isAppChanged ||= this.#isSynthesisFailed || files.some((file) => this.#isOfApp(file));
    if (!this.#isSynthesizing) await this.#synthesize();
  }

  /** A synthesis, and the folders, end with this process. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#last;
    for (const { context: open } of this.#builds.values()) await open.dispose();
  }

  /** Whether the assembly can depend on the file otherwise than by the code of functions. */
  #isOfApp(file: string): boolean {
    const isOfFunctions = !relative(join(this.#options.project, 'functions'), file).startsWith('..');
    return !isOfFunctions || this.#appFiles.has(file);
  }

  #inTurn(step: () => Promise<void>): Promise<void> {
    const result = this.#last.then(step);
    this.#last = result.catch(() => {});
    return result;
  }

  async #synthesize(): Promise<void> {
    this.#isSynthesizing = true;
    while (this.#isAppChanged && !this.#isStopped) {
      this.#isAppChanged = false;
      this.#isSynthesisFailed = false;
      const saved = this.#saved;
      const startedAt = performance.now();
      try {
        const assembly = await this.#newFolder('assembly');
        await this.#options.synthesize(assembly);
        await this.#inTurn(async () => {
          if (this.#isStopped) return;
          await this.#service.update(assembly);
          this.#applied(['the stack'], startedAt);
          // What was saved during the synthesis may be in the assembly or not.
          await this.#readAssembly();
        });
      } catch (error) {
        // What was saved meanwhile may have undone the reason.
        if (saved !== this.#saved) this.#isAppChanged = true;
        if (this.#isStopped || this.#isAppChanged) continue;
        this.#isSynthesisFailed = !(error instanceof RestartNeeded);
        await this.#refused(['the stack'], [error]);
      }
    }
    this.#isSynthesizing = false;
  }

  /** Learns what is served, and replaces what is not as the files say. */
  async #readAssembly(): Promise<void> {
    for (const { label, file } of this.#service.functions) {
      const found = this.#builds.get(label) ?? { context: await this.#contextOf(label) };
      const code = await readFile(file, 'utf8');
      this.#builds.set(label, { ...found, code, inputs: undefined, isRefused: false });
    }
    this.#appFiles = await importsOf(this.#options.project);
    await this.#build([]);
  }

  #contextOf(label: string): Build['context'] | Promise<Build['context']> {
    const outputDirectory = join(this.#folder.path, label);
    const given = bundleOptions(`functions/${label}.ts`, { outputDirectory, development: true });
    return context({ ...given, write: false, logLevel: 'silent' });
  }

  /** Builds and replaces the functions that the files belong to, one after the other: the first is used by now. */
  async #build(files: readonly string[]): Promise<void> {
    const startedAt = performance.now();
    const applied: string[] = [];
    const refused: string[] = [];
    const errors: unknown[] = [];
    for (const { label, arn } of this.#service.functions) {
      const found = this.#builds.get(label);
      if (found === undefined) continue;
      const { inputs, isRefused } = found;
      if (!isRefused && inputs !== undefined && !files.some((file) => inputs.has(file))) continue;
      try {
        const isReplaced = await this.#replace(arn, found);
        found.isRefused = false;
        // What was refused and is as before has been undone.
        if (isReplaced || isRefused) applied.push(label);
      } catch (error) {
        found.isRefused = true;
        refused.push(label);
        errors.push(error);
      }
    }
    if (applied.length > 0) this.#applied(applied, startedAt);
    if (refused.length > 0) await this.#refused(refused, errors);
  }

  /** @returns whether the code differs from the code that was served */
  async #replace(arn: string, found: Build): Promise<boolean> {
    const { metafile, outputFiles } = await found.context.rebuild();
    found.inputs = inputsOf(metafile, this.#options.project);
    const script = outputFiles.find(({ path }) => path.endsWith('.mjs'))!;
    if (script.text === found.code) return false;
    // Node.js caches modules by path.
    const folder = await this.#newFolder('code');
    for (const { path, contents } of outputFiles) await writeFile(join(folder, basename(path)), contents);
    await this.#service.replaceCode(arn, join(folder, basename(script.path)));
    found.code = script.text;
    if (found.folder !== undefined) await rm(found.folder, { recursive: true });
    found.folder = folder;
    return true;
  }

  async #newFolder(name: string): Promise<string> {
    this.#written += 1;
    const folder = join(this.#folder.path, `${name}-${this.#written}`);
    await mkdir(folder);
    return folder;
  }

  #applied(names: readonly string[], startedAt: number): void {
    const milliseconds = Math.round(performance.now() - startedAt);
    this.#options.onMessage(`${clock()} Applied ${names.join(', ')} (${milliseconds} ms)`);
  }

  async #refused(names: readonly string[], errors: readonly unknown[]): Promise<void> {
    // Functions share files, and so they share errors.
    const reasons = new Set(await Promise.all(errors.map(textOf)));
    this.#options.onMessage(
      `${[...reasons].join('\n')}\nNot applied: ${names.join(', ')}. The service goes on as before.`,
    );
  }
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
async function importsOf(project: string): Promise<ReadonlySet<string>> {
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
  return inputsOf(metafile, project);
}

function inputsOf({ inputs }: Metafile, project: string): ReadonlySet<string> {
  return new Set(Object.keys(inputs).map((path) => resolve(project, path)));
}
