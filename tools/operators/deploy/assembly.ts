import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import type { Target } from './target.ts';

const kept = 10;

/** The folder of the assembly of a commit. */
export function assemblyOf({ stackName }: Target, commit: string): string {
  return join(process.cwd(), '.deployments', stackName, commit);
}

/** The folder for the assembly of the work tree. Only that of a commit without further changes is found again. */
export function assemblyToKeep(target: Target): string {
  for (const commit of deployedCommits(target.stackName).slice(kept - 1))
    rmSync(assemblyOf(target, commit), { recursive: true });
  const commit = git('status', '--porcelain') === '' ? git('rev-parse', 'HEAD') : '';
  return assemblyOf(target, commit === '' ? 'changed' : commit);
}

/** Commits whose assemblies are still here, the newest deployment first. @param stacks a pattern */
export function deployedCommits(stacks: string): string[] {
  const age = (folder: string): number => statSync(folder).mtimeMs;
  return globSync(`.deployments/${stacks}/*`)
    .toSorted((a, b) => age(b) - age(a))
    .map((folder) => basename(folder));
}

/** The output of git. Empty if it fails. */
export function git(...args: readonly string[]): string {
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return '';
  }
}

const template = z.looseObject({
  Resources: z.record(
    z.string(),
    z.looseObject({ Type: z.string(), Properties: z.record(z.string(), z.unknown()).optional() }),
  ),
});
const assets = z.object({
  files: z.record(z.string(), z.object({ source: z.object({ path: z.string().optional() }) })),
});

/** As of a stage whose setting `deployment` is "all-at-once", see lib/delivery/safe-deployment.ts. */
const atOnce = {
  DeploymentConfigName: 'CodeDeployDefault.LambdaAllAtOnce',
  AlarmConfiguration: { Enabled: false },
  AutoRollbackConfiguration: { Enabled: true, Events: ['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_REQUEST'] },
};

/**
 * Changes an assembly so that its versions get all requests at once, whatever the alarms say. The template gets another hash: the
 * CDK does not upload a template whose hash the bucket has.
 */
export function shiftAtOnce(assembly: string, stackName: string): void {
  const name = `${stackName}.template.json`;
  const changed = template.parse(JSON.parse(readFileSync(join(assembly, name), 'utf8')));
  for (const resource of Object.values(changed.Resources))
    if (resource.Type === 'AWS::CodeDeploy::DeploymentGroup')
      Object.assign(resource.Properties ?? {}, atOnce);
  const text = JSON.stringify(changed, null, 1);
  writeFileSync(join(assembly, name), text);

  const { files } = assets.parse(
    JSON.parse(readFileSync(join(assembly, `${stackName}.assets.json`), 'utf8')),
  );
  const [oldHash] = Object.entries(files).find(([, { source }]) => source.path === name) ?? [];
  if (oldHash === undefined) throw new Error(`${assembly} has no asset ${name}.`);
  const hash = createHash('sha256').update(text).digest('hex');
  for (const file of ['manifest.json', `${stackName}.assets.json`].map((each) => join(assembly, each)))
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(oldHash, hash));
}
