import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigurationError, contextKeys } from '../../../lib/configuration/context.ts';
import { printable } from '../command-line/output.ts';
import { exitCodes, ToolError } from '../command-line/errors.ts';
import type { Account } from './account.ts';
import { judgeTemplate } from './preconditions.ts';
import { lossesConfirmedBy } from './commits.ts';
import { report } from './finding.ts';
import type { Deployment } from './deployment.ts';
import { versionIn } from './template.ts';

/** Runs the CDK of a project. @returns its exit code */
export function cdk(project: string, args: readonly string[]): number {
  const tool = join(project, 'tools', 'run.mjs');
  const { status } = spawnSync(process.execPath, [tool, 'cdk', ...args], { cwd: project, stdio: 'inherit' });
  return status ?? 1;
}

/** Arguments of the CDK for the stack's output `Commit`. */
export function commitArgs(version: string): string[] {
  return version === '' ? [] : ['-c', `${contextKeys.commit}=${version}`];
}

/** Synthesizes the assembly of a stack into a folder. @returns the exit code */
export function synthesize(
  project: string,
  { stackName, contextArgs }: Deployment,
  { folder, version, more }: { folder: string; version: string; more: readonly string[] },
): number {
  const args = [
    '--quiet',
    '--exclusively',
    '--output',
    folder,
    ...contextArgs,
    ...commitArgs(version),
    ...more,
  ];
  return cdk(project, ['synth', stackName, ...args]);
}

/** The template of a stack in an assembly. */
export function templateIn(assembly: string, { stackName }: Deployment): unknown {
  return JSON.parse(readFileSync(join(assembly, `${stackName}.template.json`), 'utf8'));
}

/** Deploys a stack from an assembly, unless the guard stops it. @returns the exit code */
export async function deployAssembly(
  account: Account,
  deployment: Deployment,
  {
    assembly,
    creates,
    args,
  }: { readonly assembly: string; readonly creates: boolean; readonly args: readonly string[] },
): Promise<number> {
  const { stackName } = deployment;
  if (!creates) {
    const [deployed] = await Promise.allSettled([account.template(stackName)]);
    const next = templateIn(assembly, deployment);
    const live = deployed.status === 'fulfilled' ? versionIn(deployed.value) : undefined;
    const confirmed = new Set([...deployment.confirmed, ...lossesConfirmedBy(versionIn(next) ?? '', live)]);
    if (!report(judgeTemplate(deployed, next, confirmed)))
      return nothingDeployed(deployed.status === 'fulfilled' ? 'refused' : 'failed');
  }
  return cdk(process.cwd(), ['deploy', stackName, '--app', assembly, ...args]);
}

/** Runs something with a new folder, which is removed at the end. */
export async function inNewFolder<T>(run: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-'));
  // Ctrl-C ends what runs meanwhile, then the folder is removed.
  const stay = (): void => {};
  process.on('SIGINT', stay);
  try {
    return await run(folder);
  } finally {
    process.off('SIGINT', stay);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @returns the exit code */
export function nothingDeployed(kind: keyof typeof exitCodes): number {
  console.error('Nothing was deployed.');
  return exitCodes[kind];
}

/**
 * A command of the command line. What it throws for the operator is one line.
 *
 * @param help what `--help` prints, without credentials
 */
export function deployCommand(
  help: (stage: string) => string,
  command: (stage: string | undefined, args: readonly string[]) => Promise<number>,
) {
  /** @returns the exit code */
  return async ([stage, ...args]: readonly string[]): Promise<number> => {
    try {
      const given = [stage, ...args];
      if (!given.some((arg) => arg === '--help' || arg === '-h')) return await command(stage, args);
      console.log(help(given.find((arg) => arg !== undefined && !arg.startsWith('-')) ?? 'STAGE'));
      return 0;
    } catch (error) {
      const kind = error instanceof ConfigurationError ? 'usage' : error instanceof ToolError && error.kind;
      if (kind === false) throw error;
      console.error((error as Error).message.split('\n').map(printable).join('\n'));
      return exitCodes[kind];
    }
  };
}
