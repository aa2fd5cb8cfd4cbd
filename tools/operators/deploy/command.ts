import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError } from '../../../lib/configuration/context.ts';
import type { Account } from './account.ts';
import { type Finding, judgeTemplate } from './checks.ts';
import type { Target } from './target.ts';

/** Prints what was found. @returns whether to go on */
export function report(findings: readonly Finding[]): boolean {
  for (const { kind, text } of findings) (kind === 'stop' ? console.error : console.log)(`${kind}: ${text}`);
  return findings.every(({ kind }) => kind !== 'stop');
}

/** Runs the CDK of a project. @returns its exit code */
function cdk(project: string, args: readonly string[]): number {
  const tool = join(project, 'tools', 'run.mjs');
  const { status } = spawnSync(process.execPath, [tool, 'cdk', ...args], { cwd: project, stdio: 'inherit' });
  return status ?? 1;
}

/** Synthesizes the assembly of a stack. @returns the exit code */
export function synthesize(
  project: string,
  { stackName, contextArgs }: Target,
  folder: string,
  more: readonly string[] = [],
): number {
  rmSync(folder, { recursive: true, force: true });
  const args = ['--quiet', '--exclusively', '--output', folder, ...contextArgs, ...more];
  return cdk(project, ['synth', stackName, ...args]);
}

/** Deploys a stack from an assembly, unless that would harm its tables. @returns the exit code */
export async function deployAssembly(
  account: Account,
  { stackName, removable }: Target,
  {
    assembly,
    creates,
    args,
  }: { readonly assembly: string; readonly creates: boolean; readonly args: readonly string[] },
): Promise<number> {
  if (!creates) {
    const [deployed] = await Promise.allSettled([account.template(stackName)]);
    const next: unknown = JSON.parse(readFileSync(join(assembly, `${stackName}.template.json`), 'utf8'));
    if (!report(judgeTemplate(deployed, next, removable))) return nothingDeployed();
  }
  return cdk(process.cwd(), ['deploy', stackName, '--app', assembly, ...args]);
}

export function nothingDeployed(): number {
  console.error('Nothing was deployed.');
  return 1;
}

/**
 * Runs a command, and ends the process with its exit code. What it throws for the operator is one line.
 *
 * @param help what `--help` prints, without credentials
 */
export async function runAsProcess(
  help: (stage: string) => string,
  command: (stage: string | undefined, args: readonly string[]) => Promise<number>,
): Promise<void> {
  const [, , stage, ...args] = process.argv;
  try {
    if ([stage, ...args].some((arg) => arg === '--help' || arg === '-h')) console.log(help(stage ?? 'STAGE'));
    else process.exitCode = await command(stage, args);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
