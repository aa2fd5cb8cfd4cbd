import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigurationError } from '../../../lib/configuration/context.ts';
import { openAccount } from './account.ts';
import { assemblyOf, deployedCommits, git, shiftAtOnce } from './assembly.ts';
import { checkCaller, checkStack, isNew, judge } from './checks.ts';
import { deployAssembly, nothingDeployed, report, runAsProcess, synthesize } from './command.ts';
import { readTarget, type Target } from './target.ts';

const help = (stage: string) => `Usage: npm run roll-back:${stage} -- COMMIT [OPTIONS]

Deploys an earlier commit or tag with its own packages and settings, at once and whatever the alarms say.

Options:
  -c, --context KEY=VALUE   settings for this deployment
  -a, --app FOLDER          deploy this assembly, such as the artifact of a delivery; needs no commit
      --profile NAME        profile of the AWS configuration (default: AWS_PROFILE)
  -h, --help                show this help

All other options go to "cdk deploy". docs/operate.md#roll-back says which way to take.

${versions(`*-${stage}`)}`;

/**
 * `npm run roll-back:prod COMMIT`
 *
 * Nothing but CloudFormation moves an alias: CodeDeploy refuses a deployment whose alias is not at the version of the template
 * (serverless-application-model issue 291), and the update's own rollback then restores the version of the template.
 */
await runAsProcess(help, async (name, [first, ...others]) => {
  const revision = first?.startsWith('-') === false ? first : undefined;
  const target = readTarget(
    name,
    revision === undefined && first !== undefined ? [first, ...others] : others,
  );
  const { stage, stackName, app } = target;
  const commit = revision === undefined ? '' : git('rev-parse', '--verify', `${revision}^{commit}`);
  if (commit === '' && app === undefined)
    throw new ConfigurationError(
      `Give a commit or tag of this repository${revision === undefined ? '' : ` (got "${revision}")`}: npm run roll-back:${stage} -- COMMIT\n${versions(stackName)}`,
    );
  const account = openAccount(target);
  const [caller, stack] = await Promise.allSettled([account.caller(), account.stack(stackName)]);
  if (!report([checkCaller(caller, target)])) return nothingDeployed();
  if (stack.status === 'fulfilled' && isNew(stack.value))
    throw new ConfigurationError(`There is nothing to roll back: ${stackName} is not deployed.`);
  if (!report([judge('The stack', stack, (found) => checkStack(target, found))])) return nothingDeployed();
  console.log(`Deploys to ${stage}: ${app ?? git('log', '-1', '--format=%h of %cs, %s', commit)}`);

  // Ctrl-C ends what runs below, then the copies are removed.
  process.on('SIGINT', () => {});
  const kept = app ?? assemblyOf(target, commit);
  if (!existsSync(kept)) {
    const code = synthesizeCommit(commit, target, kept);
    if (code !== 0) return code;
  }
  const assembly = mkdtempSync(join(tmpdir(), 'roll-back-'));
  try {
    cpSync(kept, assembly, { recursive: true });
    shiftAtOnce(assembly, stackName);
    const args = ['--exclusively', '--require-approval', 'never', ...target.rest];
    return await deployAssembly(account, target, { assembly, creates: false, args });
  } finally {
    rmSync(assembly, { recursive: true, force: true });
  }
});

/** Synthesizes a commit from a copy of it. @returns the exit code */
function synthesizeCommit(commit: string, target: Target, folder: string): number {
  const copy = mkdtempSync(join(tmpdir(), 'commit-'));
  try {
    git('worktree', 'add', '--quiet', '--detach', copy, commit);
    const inCopy = { cwd: copy, stdio: 'inherit', shell: process.platform === 'win32' } as const;
    const { status } = spawnSync('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund'], inCopy);
    if (status !== 0) return status ?? 1;
    const code = synthesize(copy, target, folder);
    if (code !== 0) rmSync(folder, { recursive: true, force: true });
    return code;
  } finally {
    git('worktree', 'remove', '--force', copy);
  }
}

/** What can be delivered. @param stacks a pattern */
function versions(stacks: string): string {
  const list = (texts: readonly string[]) => {
    const found = texts.filter((text) => text !== '');
    return (found.length > 0 ? found : ['none']).map((text) => `  ${text}`);
  };
  const format = '--format=%h of %cs, %s';
  return [
    'Deployed from here before, and ready without packages of npm:',
    ...list(deployedCommits(stacks).map((commit) => git('log', '-1', format, commit))),
    'The newest tags ("git fetch --tags" gets those that are missing):',
    ...list(git('tag', '--list', 'v*', '--sort=-version:refname').split('\n').slice(0, 5)),
    'The newest commits:',
    ...list(git('log', '-5', format).split('\n')),
  ].join('\n');
}
