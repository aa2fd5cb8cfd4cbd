import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigurationError, withOverrides } from '../../../lib/configuration/context.ts';
import { openAccount } from './account.ts';
import { checkCaller, checkStack, isNew, judge } from './checks.ts';
import { cdk, readStage, report, runAsProcess } from './command.ts';

/**
 * `npm run roll-back:prod COMMIT`: deploys an earlier commit from a copy of it, with its own packages and settings, at once and
 * whatever the alarms say. Further arguments go to `cdk deploy`.
 *
 * Nothing but CloudFormation moves an alias: CodeDeploy refuses a deployment whose alias is not at the version of the template
 * (serverless-application-model issue 291), and the update's own rollback then restores the version of the template.
 */
await runAsProcess(async () => {
  const [, , name, revision, ...args] = process.argv;
  const { stage, stackName, context, profile } = readStage(name, args);
  const commit =
    revision?.startsWith('-') === false ? git('rev-parse', '--verify', `${revision}^{commit}`) : '';
  if (commit === '')
    throw new ConfigurationError(
      `Give a commit or tag of this repository (got "${revision}"): npm run roll-back:${stage} v1.0.0. ` +
        '"git fetch --tags" gets those that are missing.',
    );
  const account = openAccount(profile);
  const [caller, stack] = await Promise.allSettled([account.caller(), account.stack(stackName)]);
  if (!report([checkCaller(caller)])) return 1;
  if (stack.status === 'fulfilled' && isNew(stack.value))
    throw new ConfigurationError(`There is nothing to roll back: ${stackName} is not deployed.`);
  if (!report([judge('The stack', stack, (found) => checkStack(stackName, found))])) return 1;
  console.log(`Deploys to ${stage}: ${git('log', '-1', '--format=%h of %cs, %s', commit)}`);

  // Ctrl-C ends what runs below, then the copy is removed.
  process.on('SIGINT', () => {});
  const folder = mkdtempSync(join(tmpdir(), 'roll-back-'));
  try {
    execFileSync('git', ['worktree', 'add', '--quiet', '--detach', folder, commit], { stdio: 'inherit' });
    const inCopy = { cwd: folder, stdio: 'inherit', shell: process.platform === 'win32' } as const;
    const { status } = spawnSync('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund'], inCopy);
    if (status !== 0) return status ?? 1;
    const overrides = withOverrides(context, stage, { deployment: 'all-at-once' });
    const options = ['--exclusively', '--require-approval', 'never', '-c', `overrides=${overrides}`];
    return cdk(folder, ['deploy', stackName, ...args, ...options]);
  } finally {
    spawnSync('git', ['worktree', 'remove', '--force', folder]);
  }
});

/** The output of git. Empty if it fails. */
function git(...args: readonly string[]): string {
  return spawnSync('git', args, { encoding: 'utf8' }).stdout.trim();
}
