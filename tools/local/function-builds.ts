import { readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type BuildContext, type BuildFailure, context, formatMessages } from 'esbuild';
import { bundleOptions } from '../../lib/compute/bundle.ts';

export const projectDirectory = join(import.meta.dirname, '..', '..');

interface Entry {
  readonly context: BuildContext;
  readonly outputDirectory: string;
  /** Absolute paths of the input files of the last successful build. */
  inputs: ReadonlySet<string>;
  /** Rebuild at the next change of any file: the missing input can be anywhere. */
  failed: boolean;
  code: string;
}

/** Incremental builds of the functions, with the settings of the local stage. */
export class FunctionBuilds {
  readonly #directory: string;
  readonly #entries = new Map<string, Entry>();

  /** @param directory receives the builds */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** The built entries that the changed files belong to. @param files absolute paths */
  affectedBy(files: readonly string[]): string[] {
    return [...this.#entries]
      .filter(([, { inputs, failed }]) => failed || files.some((file) => inputs.has(file)))
      .map(([entry]) => entry);
  }

  /**
   * @param entry such as `list-pets`
   * @returns the folder of the code, or `undefined` when the code has not changed
   * @throws BuildFailure, see `describeBuildFailure`
   */
  async build(entry: string): Promise<string | undefined> {
    const built = this.#entries.get(entry) ?? (await this.#open(entry));
    this.#entries.set(entry, built);
    built.failed = true;
    const { metafile } = await built.context.rebuild();
    built.failed = false;
    built.inputs = new Set(
      Object.keys(metafile?.inputs ?? {}).map((file) => resolve(projectDirectory, file)),
    );
    const code = await readFile(join(built.outputDirectory, `${entry}.mjs`), 'utf8');
    if (code === built.code) return undefined;
    built.code = code;
    return built.outputDirectory;
  }

  async dispose(): Promise<void> {
    for (const entry of this.#entries.values()) await entry.context.dispose();
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #open(entry: string): Promise<Entry> {
    const outputDirectory = join(this.#directory, entry);
    const options = bundleOptions(`functions/${entry}.ts`, outputDirectory, { development: true });
    return {
      context: await context({ ...options, logLevel: 'silent' }),
      outputDirectory,
      inputs: new Set(),
      failed: false,
      code: '',
    };
  }
}

export function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors) && 'warnings' in error;
}

/** File, line and source code of each error. */
export async function describeBuildFailure({ errors }: BuildFailure, inColour: boolean): Promise<string> {
  return (await formatMessages(errors, { kind: 'error', color: inColour })).join('').trimEnd();
}
