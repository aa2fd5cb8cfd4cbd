import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  ConfigurationError,
  contextKeys,
  isSetting,
  withOverrides,
} from '../../../lib/configuration/context.ts';
import { ToolError } from '../command-line/errors.ts';
import { printable } from '../command-line/output.ts';
import { openAccount } from './account.ts';
import { checkCaller, checkStack, isNew, kindOf } from './preconditions.ts';
import {
  deployAssembly,
  deployCommand,
  inNewFolder,
  nothingDeployed,
  synthesize,
  templateIn,
} from './command.ts';
import { describeVersion, git, hashOf } from './commits.ts';
import { judge, report } from './finding.ts';
import { projectFile } from '../command-line/project-file.ts';
import { readDeployment, type Deployment } from './deployment.ts';
import { skipChecks } from './skip-checks.ts';
import { versionIn } from './template.ts';

const help = (stage: string) => `Usage: npm run roll-back:${stage} -- COMMIT [OPTIONS]

Deploys the code of an earlier commit or tag with today's settings (cdk.json), at once and whatever the alarms say.
Stops before it would lose anything.

Options:
  -c, --context KEY=VALUE   settings for this deployment
      --confirm-loss ID     permit that this resource is deleted, replaced or left behind, by its logical ID
      --skip-pre-traffic-checks
                            during an outage that fails the checks of the earlier commit, too
  -o, --output FOLDER       only write the assembly, without AWS
  -a, --app FOLDER          deploy an assembly of --output; needs no commit
      --profile NAME        profile of the AWS configuration (default: AWS_PROFILE)
  -h, --help                show this help

All other options go to "cdk deploy". docs/operate.md#roll-back says which way to take.

${versions()}`;

/**
 * `npm run roll-back:prod COMMIT`
 *
 * Nothing but CloudFormation moves an alias: CodeDeploy refuses a deployment whose alias is not at the version of the template
 * (serverless-application-model issue 291), and the update's own rollback then restores the version of the template.
 */
export const rollBack = deployCommand(help, async (name, given) => {
  const deployment = readDeployment(name, given, 1);
  const [revision] = deployment.positionals;
  const { stage, stackName, app, output } = deployment;
  const commit = revision === undefined ? '' : hashOf(revision);
  if (commit === '' && app === undefined)
    throw new ConfigurationError(
      `Give a commit or tag of this repository${revision === undefined ? '' : ` (got "${printable(revision)}")`}: npm run roll-back:${stage} -- COMMIT\n${versions()}`,
    );
  if (deployment.skipsChecks && app !== undefined)
    throw new ConfigurationError(
      'An assembly is checked or not as it was made: give --skip-pre-traffic-checks with --output, and leave it out here.',
    );
  if (output !== undefined) return synthesizeCommit(commit, deployment, resolve(output));

  const account = openAccount(deployment);
  const [caller, stack] = await Promise.allSettled([account.caller(), account.stack(stackName)]);
  if (!report([checkCaller(caller, deployment)])) return nothingDeployed(kindOf(caller));
  if (stack.status === 'fulfilled' && isNew(stack.value))
    throw new ToolError('not_found', `There is nothing to roll back: ${stackName} is not deployed.`);
  if (!report([judge('The stack', stack, (found) => checkStack(deployment, found))]))
    return nothingDeployed('refused');
  const live = stack.status === 'fulfilled' ? stack.value?.version : undefined;
  console.log(
    `Live in ${stage}: ${live === undefined ? 'a version that did not record its commit' : describeVersion(live)}`,
  );
  const version = app === undefined ? commit : (versionIn(templateIn(app, deployment)) ?? app);
  console.log(`Deploys to ${stage}: ${describeVersion(version)}`);

  const args = ['--exclusively', '--require-approval', 'never', ...deployment.rest];
  if (app !== undefined) return deployAssembly(account, deployment, { assembly: app, creates: false, args });
  return inNewFolder(async (assembly) => {
    const failed = await synthesizeCommit(commit, deployment, assembly);
    return failed || deployAssembly(account, deployment, { assembly, creates: false, args });
  });
});

/** Synthesizes a commit with today's settings, from a copy of it. @returns the exit code */
function synthesizeCommit(commit: string, deployment: Deployment, folder: string): Promise<number> {
  return inNewFolder(async (copy) => {
    try {
      git('worktree', 'add', '--quiet', '--detach', copy, commit);
      const file = join(copy, 'cdk.json');
      writeFileSync(file, JSON.stringify(withSettingsOf(deployment, JSON.parse(readFileSync(file, 'utf8')))));
      const inCopy = { cwd: copy, stdio: 'inherit', shell: process.platform === 'win32' } as const;
      // npm does not ask the registry if it has installed these packages on this machine before.
      const { status } = spawnSync('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund'], inCopy);
      if (status !== 0) return status ?? 1;
      const overrides = withOverrides(deployment.context, deployment.stage, { deployment: 'all-at-once' });
      const more = ['-c', `overrides=${overrides}`, '-c', `${contextKeys.unknownSettings}=left-out`];
      rmSync(folder, { recursive: true, force: true });
      const failed = synthesize(copy, deployment, { folder, version: commit, more });
      if (failed === 0 && deployment.skipsChecks) {
        skipChecks(folder, deployment);
        console.log(
          'The earlier version gets requests without checks before. Run the smoke test afterwards.',
        );
      }
      return failed;
    } finally {
      git('worktree', 'remove', '--force', copy);
    }
  });
}

/** The cdk.json of an earlier commit with today's settings. The CDK's flags belong to the code. */
function withSettingsOf({ projectFile: today }: Deployment, earlier: unknown): object {
  const then = projectFile.parse(earlier);
  const entries = (context: object, are: boolean) =>
    Object.entries(context).filter(([key]) => isSetting(key) === are);
  return {
    ...then,
    context: Object.fromEntries([...entries(then.context, false), ...entries(today.context, true)]),
  };
}

/** What can be delivered. */
function versions(): string {
  const list = (texts: readonly string[]) => {
    const found = texts.filter((text) => text !== '');
    return (found.length > 0 ? found : ['none']).map((text) => `  ${printable(text)}`);
  };
  return [
    'The newest tags ("git fetch --tags" gets those that are missing):',
    ...list(git('tag', '--list', 'v*', '--sort=-version:refname').split('\n').slice(0, 5)),
    'The newest commits:',
    ...list(git('log', '-5', '--format=%h of %cs, %s').split('\n')),
  ].join('\n');
}
