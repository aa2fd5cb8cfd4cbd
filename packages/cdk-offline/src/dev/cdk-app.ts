import { mkdir, readdir, readFile, stat, utimes } from 'node:fs/promises';
import { extname, join, relative, resolve, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import picomatch from 'picomatch';
import { z } from 'zod';
import { lockDirectory } from '../system/directory-lock.ts';
import { temporaryDirectory } from '../system/temporary-directory.ts';
import { accountId, region } from '../template/aws.ts';
import { alwaysIgnored, isOwnOutput } from './changed-files.ts';
import { synthesize } from './synthesize.ts';

const patterns = z.union([z.string().transform((one) => [one]), z.array(z.string())]);
const cdkJson = z.object({
  app: z.string().optional(),
  output: z.string().default('cdk.out'),
  watch: z
    .object({ include: patterns.default(['**']), exclude: patterns.default([]) })
    .default({ include: ['**'], exclude: [] }),
});

/** The CDK app of a folder, and the assembly that it writes. */
export class CdkApp {
  readonly folder: string;
  /** The command that synthesizes it. */
  readonly command: string | undefined;
  /** Where `cdk synth` writes the assembly. */
  readonly output: string;
  readonly #isIncluded: (path: string) => boolean;
  readonly #isExcluded: (path: string) => boolean;
  #bundles: readonly string[] = [];

  private constructor(folder: string, { app, output, watch }: z.infer<typeof cdkJson>) {
    this.folder = folder;
    this.command = app;
    this.output = resolve(folder, output);
    this.#isIncluded = picomatch(watch.include, { dot: true });
    this.#isExcluded = picomatch([...watch.exclude, '**/.*', `${output}/**`], { dot: true });
  }

  /** @returns `undefined` for a folder without a cdk.json. @throws Error when it cannot be read */
  static async in(folder: string): Promise<CdkApp | undefined> {
    const path = join(folder, 'cdk.json');
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text === undefined) return undefined;
    try {
      return new CdkApp(folder, cdkJson.parse(JSON.parse(text)));
    } catch (error) {
      throw new Error(`${path} cannot be used: ${String(error)}`, { cause: error });
    }
  }

  /** The script that the command runs, for instance `bin/app.ts`. `undefined` when the command does not name one. */
  get entry(): string | undefined {
    const scripts = this.command?.split(/[\s"']+/).filter((word) => /\.[cm]?tsx?$/.test(word)) ?? [];
    return scripts.length === 1 ? resolve(this.folder, scripts[0] ?? '') : undefined;
  }

  /** The calls of esbuild in the last synthesis. */
  get bundles(): readonly string[] {
    return this.#bundles;
  }

  /** Whether a file or folder is none of those that "watch" of cdk.json names. */
  isIgnored(path: string, isFile: boolean): boolean {
    const name = relative(this.folder, path).replaceAll(sep, '/');
    if (name === '') return false;
    return alwaysIgnored.test(`/${name}`) || this.#isExcluded(name) || (isFile && !this.#isIncluded(name));
  }

  /**
   * A file or folder that changed after the assembly was synthesized.
   *
   * @returns its path, relative to the app's folder; "cdk.out" itself when there is none; `undefined` when the assembly is new
   */
  async newerThan(assembly: string): Promise<string | undefined> {
    const manifest = await stat(join(assembly, 'manifest.json')).catch(() => undefined);
    if (manifest === undefined) return relative(this.folder, assembly);
    const found = await this.#newerIn(this.folder, manifest.mtimeMs);
    return found && relative(this.folder, found);
  }

  async #newerIn(folder: string, time: number): Promise<string | undefined> {
    // A folder that was just removed, or that this user may not read: the app cannot depend on it.
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const path = join(folder, entry.name);
      const isSetting = folder === this.folder && /^cdk(?:\.context)?\.json$/.test(entry.name);
      if (!isSetting && this.isIgnored(path, !entry.isDirectory())) continue;
      const newer = entry.isDirectory() ? await this.#newerIn(path, time) : undefined;
      if (newer !== undefined) return newer;
      // A folder changes when a file in it is removed or renamed.
      const found = await stat(path).catch(() => undefined);
      if (found !== undefined && found.mtimeMs > time && !isOwnOutput(found)) return path;
    }
    return undefined;
  }

  /** Synthesizes the app as `cdk synth` does. The assembly gets the time at which the synthesis started. */
  async synthesize(assembly: string, copiesAssets = true): Promise<void> {
    await mkdir(assembly, { recursive: true });
    const unlock = await lockWhenFree(assembly);
    let temporary: ReturnType<typeof temporaryDirectory> | undefined;
    try {
      temporary = temporaryDirectory();
      const started = new Date();
      const recorder = fileURLToPath(
        new URL(`bundle-recorder.c${extname(import.meta.url).slice(1)}`, import.meta.url),
      );
      const file = join(temporary.path, 'bundles');
      const options = [process.env['NODE_OPTIONS'], `--require ${JSON.stringify(recorder)}`]
        .filter(Boolean)
        .join(' ');
      await synthesize(assembly, {
        project: this.folder,
        // As "cdk synth --no-staging": the assembly names the folders of functions in place of copies.
        context: copiesAssets ? {} : { 'aws:cdk:disable-asset-staging': true },
        // As the CDK CLI with an account: many apps take the environment of their stacks from there.
        env: {
          CDK_DEFAULT_ACCOUNT: process.env['CDK_DEFAULT_ACCOUNT'] ?? accountId,
          CDK_DEFAULT_REGION: process.env['CDK_DEFAULT_REGION'] ?? region,
          NODE_OPTIONS: options,
          CDK_OFFLINE_BUNDLES: file,
        },
      });
      const lines = await readFile(file, 'utf8').catch(() => '');
      this.#bundles = lines.split('\n').filter((line) => line !== '');
      await utimes(join(assembly, 'manifest.json'), started, started);
    } finally {
      await temporary?.remove();
      await unlock();
    }
  }
}

const pollMs = 200;
/** For the synthesis of another process in the same folder. */
const lockTimeoutMs = 120_000;

async function lockWhenFree(directory: string): Promise<() => Promise<void>> {
  const deadline = performance.now() + lockTimeoutMs;
  for (;;) {
    try {
      return await lockDirectory(directory);
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(pollMs);
    }
  }
}
