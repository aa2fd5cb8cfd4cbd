import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
// `fs.watch` misses a file after its first save by rename on Linux, and blocks the process while thousands of files appear.
import { watch as watchFolders } from 'chokidar';
import { build, type BuildContext, type BuildFailure, context, formatMessages, type Metafile } from 'esbuild';
import { bundleOptions } from '../../../lib/bundler/bundle.ts';
import { clock } from './request-log.ts';
import { type LocalService, RestartNeeded } from './serve.ts';
import { project, synthesizeLocal } from './stack.ts';

/** `npm run dev`: applies what is saved. A change that cannot be applied has no effect. */

/** Editors save a file in several steps. */
const quietMs = 30;

/**
 * @param since when the synthesis of what is served started, in milliseconds since the Unix epoch: what was saved later is applied
 *   at once
 * @returns stops watching
 */
export async function watch(service: LocalService, since: number): Promise<() => Promise<void>> {
  const changes = new Changes(service);
  await changes.start();
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
  watcher.on('error', (error) => console.error(`Changes may be missed: ${String(error)}`));
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
  /** By function. */
  readonly #builds = new Map<string, Build>();
  /** What the app imports. */
  #appFiles: ReadonlySet<string> = new Set();
  /** Steps that change what is served run one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #isStopped = false;
  #isSynthesizing = false;
  /** Since the synthesis began. */
  #isSaved = false;
  /** Since the synthesis began, or it failed: then any file can be the reason, also one of a function. */
  #isAppChanged = false;

  constructor(service: LocalService) {
    this.#service = service;
  }

  async start(): Promise<void> {
    await this.#inTurn(() => this.#readAssembly());
  }

  async apply(files: readonly string[]): Promise<void> {
    this.#isSaved = true;
    // Functions do not wait for a synthesis: they take a fraction of a second, and it takes several.
    await this.#inTurn(() => this.#build(files));
    this.#isAppChanged ||= files.some((file) => this.#isOfApp(file));
    if (this.#isAppChanged && !this.#isSynthesizing) await this.#synthesize();
  }

  /** A synthesis ends with this process. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#last;
    for (const { context: open } of this.#builds.values()) await open.dispose();
  }

  /** Whether the assembly can depend on the file otherwise than by the code of functions. */
  #isOfApp(file: string): boolean {
    return relative(join(project, 'functions'), file).startsWith('..') || this.#appFiles.has(file);
  }

  #inTurn(step: () => Promise<void>): Promise<void> {
    const result = this.#last.then(step);
    this.#last = result.catch(() => {});
    return result;
  }

  async #synthesize(): Promise<void> {
    this.#isSynthesizing = true;
    do {
      this.#isAppChanged = false;
      this.#isSaved = false;
      const startedAt = performance.now();
      try {
        const assembly = await this.#newFolder('assembly');
        await synthesizeLocal(assembly);
        await this.#inTurn(async () => {
          if (this.#isStopped) return;
          await this.#service.update(assembly);
          this.#applied(['the stack'], startedAt);
          // What was saved during the synthesis may be in the assembly or not.
          await this.#readAssembly();
        });
      } catch (error) {
        this.#isAppChanged ||= !(error instanceof RestartNeeded);
        // What was saved meanwhile may have undone the reason.
        if (!this.#isStopped && !(this.#isAppChanged && this.#isSaved))
          await this.#refused(['the stack'], [error]);
      }
    } while (this.#isAppChanged && this.#isSaved && !this.#isStopped);
    this.#isSynthesizing = false;
  }

  /** Learns what is served, and replaces what is not as the files say. */
  async #readAssembly(): Promise<void> {
    for (const { label, file } of this.#service.functions.definitions) {
      const found = this.#builds.get(label) ?? { context: await contextOf(label, dirname(file)) };
      const code = await readFile(file, 'utf8');
      this.#builds.set(label, { ...found, code, inputs: undefined, isRefused: false });
    }
    this.#appFiles = await importsOfApp();
    await this.#build([]);
  }

  /** Builds and replaces the functions that the files belong to, one after the other: the first is used by now. */
  async #build(files: readonly string[]): Promise<void> {
    const startedAt = performance.now();
    const applied: string[] = [];
    const refused: string[] = [];
    const errors: unknown[] = [];
    for (const { label, arn } of this.#service.functions.definitions) {
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
    found.inputs = inputsOf(metafile);
    const script = outputFiles.find(({ path }) => path.endsWith('.mjs'))!;
    if (script.text === found.code) return false;
    // Node.js caches modules by path.
    const folder = await this.#newFolder('code');
    for (const { path, contents } of outputFiles) await writeFile(join(folder, basename(path)), contents);
    await this.#service.functions.replaceCode(arn, join(folder, basename(script.path)));
    found.code = script.text;
    if (found.folder !== undefined) await rm(found.folder, { recursive: true });
    found.folder = folder;
    return true;
  }

  #newFolder(name: string): Promise<string> {
    return mkdtemp(join(this.#service.temporaryFolder, `${name}-`));
  }

  #applied(names: readonly string[], startedAt: number): void {
    const milliseconds = Math.round(performance.now() - startedAt);
    console.error(`${clock()} Applied ${names.join(', ')} (${milliseconds} ms)`);
  }

  async #refused(names: readonly string[], errors: readonly unknown[]): Promise<void> {
    // Functions share files, and so they share errors.
    const reasons = new Set(await Promise.all(errors.map(textOf)));
    console.error(
      `${[...reasons].join('\n')}\nNot applied: ${names.join(', ')}. The service goes on as before.`,
    );
  }
}

function contextOf(label: string, outputDirectory: string): Promise<Build['context']> {
  const given = bundleOptions(`functions/${label}.ts`, { outputDirectory, development: true });
  return context({ ...given, write: false, logLevel: 'silent' });
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
async function importsOfApp(): Promise<ReadonlySet<string>> {
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
  return inputsOf(metafile);
}

function inputsOf({ inputs }: Metafile): ReadonlySet<string> {
  return new Set(Object.keys(inputs).map((path) => resolve(project, path)));
}
