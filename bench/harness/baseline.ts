import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Built } from './variants.ts';

const run = promisify(execFile);
const projectDirectory = dirname(dirname(import.meta.dirname));

/** Another commit of this project, to be measured together with the current one. */
export class Baseline {
  readonly commit: string;
  readonly #directory: string;

  private constructor(commit: string, directory: string) {
    this.commit = commit;
    this.#directory = directory;
  }

  static async checkOut(commit: string): Promise<Baseline> {
    const directory = join(await mkdtemp(join(tmpdir(), 'animal-store-bench-')), 'baseline');
    await run('git', ['worktree', 'add', '--detach', directory, commit], { cwd: projectDirectory });
    const baseline = new Baseline(commit, directory);
    const lock = (project: string) => readFile(join(project, 'package-lock.json'), 'utf8');
    if (dependencies(await lock(directory)) === dependencies(await lock(projectDirectory))) {
      await symlink(join(projectDirectory, 'node_modules'), join(directory, 'node_modules'));
    } else {
      await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: directory });
    }
    return baseline;
  }

  /** @param entry such as `list-pets` */
  async build(entry: string, output: string): Promise<Built> {
    const command = join(this.#directory, 'lib', 'compute', 'bundle-command.ts');
    await run(process.execPath, [command, `functions/${entry}.ts`, output], { cwd: this.#directory });
    return { directory: output, bytes: (await stat(join(output, `${entry}.mjs`))).size };
  }

  async remove(): Promise<void> {
    await run('git', ['worktree', 'remove', '--force', this.#directory], { cwd: projectDirectory });
    await rm(dirname(this.#directory), { recursive: true });
  }
}

/** The versions of a package lock that affect a bundle: dependencies of functions, and esbuild. */
function dependencies(lock: string): string {
  const { packages } = JSON.parse(lock) as {
    packages: Record<string, { version?: string; dev?: boolean; optional?: boolean }>;
  };
  return Object.entries(packages)
    .filter(
      ([path, { dev, optional }]) => path === 'node_modules/esbuild' || !(path === '' || dev || optional),
    )
    .map(([path, { version }]) => `${path} ${version}`)
    .join('\n');
}
