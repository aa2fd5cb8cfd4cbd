import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { ConfigurationError, readConfiguration } from '../../../lib/configuration/context.ts';
import type { Finding } from './checks.ts';

/** What a call is about. @param args of `cdk deploy`. @throws ConfigurationError */
export function readStage(name: string | undefined, args: readonly string[]) {
  const stage = (['staging', 'prod'] as const).find((each) => each === name);
  if (stage === undefined) throw new ConfigurationError(`The stage must be staging or prod (got "${name}").`);
  const { values } = parseArgs({
    args: [...args],
    options: { context: { type: 'string', short: 'c', multiple: true }, profile: { type: 'string' } },
    strict: false,
  });
  const pairs = [values.context ?? []].flat().map((pair) => String(pair).split(/=(.*)/s, 2));
  const file = z.object({ context: z.record(z.string(), z.unknown()) });
  const context = {
    ...file.parse(JSON.parse(readFileSync('cdk.json', 'utf8'))).context,
    ...Object.fromEntries(pairs),
  };
  const configuration = readConfiguration(context);
  const settings = configuration.stages.get(stage);
  if (settings === undefined) throw new ConfigurationError(`The context "stage" leaves ${stage} out.`);
  const profile = typeof values.profile === 'string' ? values.profile : undefined;
  return { ...configuration, stage, stackName: `${configuration.name}-${stage}`, settings, context, profile };
}

/** Prints what was found. @returns whether to go on */
export function report(findings: readonly Finding[]): boolean {
  for (const { kind, text } of findings) (kind === 'stop' ? console.error : console.log)(`${kind}: ${text}`);
  return findings.every(({ kind }) => kind !== 'stop');
}

/** Runs the CDK of a project. @returns its exit code */
export function cdk(project: string, args: readonly string[]): number {
  const tool = join(project, 'tools', 'run.mjs');
  const { status } = spawnSync(process.execPath, [tool, 'cdk', ...args], { cwd: project, stdio: 'inherit' });
  return status ?? 1;
}

/** Runs a command, and ends the process with its exit code. What it throws for the operator is one line. */
export async function runAsProcess(command: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await command();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
