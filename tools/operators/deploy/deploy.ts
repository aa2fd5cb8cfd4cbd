import { createInterface } from 'node:readline/promises';
import { ConfigurationError } from '../../../lib/configuration/context.ts';
import { openAccount } from './account.ts';
import * as preconditions from './preconditions.ts';
import {
  deployAssembly,
  deployCommand,
  inNewFolder,
  nothingDeployed,
  synthesize,
  templateIn,
} from './command.ts';
import { ageOf, versionOfWorkTree } from './commits.ts';
import { type Finding, judge, report } from './finding.ts';
import { readDeployment, type Deployment } from './deployment.ts';
import { versionIn } from './template.ts';

const help = (stage: string) => `Usage: npm run deploy:${stage} -- [OPTIONS]

Checks the account, then what the change of the template would lose, and deploys the stack unless that would fail or do harm.
The findings start with "ok", "warning" or "stop". Nothing is deployed after a "stop".

Options:
  -c, --context KEY=VALUE   settings for this deployment, such as 'overrides={"${stage}":{"logLevel":"DEBUG"}}'
  -a, --app FOLDER          deploy this assembly (of "cdk synth") instead of synthesizing one; only updates a stack
      --confirm-loss ID     permit that this resource is deleted, replaced or left behind, by its logical ID
      --profile NAME        profile of the AWS configuration (default: AWS_PROFILE)
  -h, --help                show this help

All other options go to "cdk deploy", such as --require-approval never. docs/deploy.md has the steps.`;

/** `npm run deploy:staging` */
export const deploy = deployCommand(help, async (name, args) => {
  const deployment = readDeployment(name, args);
  const { stackName, settings, accountSettings, app } = deployment;
  if (deployment.skipsChecks)
    throw new ConfigurationError(
      '--skip-pre-traffic-checks is for roll backs: npm run roll-back:STAGE -- COMMIT',
    );
  const account = openAccount(deployment);
  const [caller] = await Promise.allSettled([account.caller()]);
  if (!report([preconditions.checkCaller(caller, deployment)]) || caller.status === 'rejected')
    return nothingDeployed(preconditions.kindOf(caller));
  const [stack, bootstrap, gateway, concurrency, budget] = await Promise.allSettled([
    account.stack(stackName),
    account.bootstrap(),
    account.gateway(),
    account.concurrency(),
    settings.monthlyBudget === undefined ? undefined : account.hasType('AWS::Budgets::Budget'),
  ]);
  const creates = stack.status === 'fulfilled' && preconditions.isNew(stack.value);
  const isManaged = accountSettings === 'managed';
  const version = (app === undefined ? versionOfWorkTree() : versionIn(templateIn(app, deployment))) ?? '';
  const findings = [
    judge('The stack', stack, (found) => preconditions.checkStack(deployment, found)),
    ...(creates
      ? []
      : [judge('The live version', stack, (found) => compareVersions(deployment, version, found))]),
    judge('The bootstrap', bootstrap, (found) => preconditions.checkBootstrap(found, caller.value)),
    judge("API Gateway's role", gateway, ({ role }) => preconditions.checkLoggingRole(role, isManaged)),
    judge("API Gateway's throttle", gateway, ({ throttle }) =>
      preconditions.checkThrottle(throttle, settings),
    ),
    judge("Lambda's concurrency", concurrency, (found) =>
      preconditions.checkConcurrency(found, settings, creates),
    ),
    ...(settings.domain === undefined ? [] : [preconditions.checkCertificate(caller.value, settings.domain)]),
    ...(settings.monthlyBudget === undefined
      ? []
      : [judge('The budget', budget, (exists) => preconditions.checkBudget(exists === true))]),
    ...(await notifications(deployment)),
  ];
  if (!report(findings)) return nothingDeployed('refused');
  if (app !== undefined)
    return deployAssembly(account, deployment, {
      assembly: app,
      creates,
      args: ['--exclusively', ...deployment.rest],
    });
  const needsRole = gateway.status === 'fulfilled' && gateway.value.role === undefined;
  for (const more of preconditions.deploymentsOf(deployment, { creates, needsRole })) {
    const code = await inNewFolder(async (assembly) => {
      const failed = synthesize(process.cwd(), deployment, { folder: assembly, version, more });
      return failed || deployAssembly(account, deployment, { assembly, creates, args: deployment.rest });
    });
    if (code !== 0) return code;
  }
  return 0;
});

function compareVersions(deployment: Deployment, version: string, stack: preconditions.StackState): Finding {
  const live = stack?.version;
  return preconditions.checkVersion(
    deployment,
    version,
    live,
    live === undefined ? 'unknown' : ageOf(version, live),
  );
}

/** Asks whether prod may have alarms that notify nobody. */
async function notifications({ stage, settings }: Deployment): Promise<Finding[]> {
  if (stage !== 'prod' || !settings.alarms || settings.notificationAddress !== undefined) return [];
  const problem =
    'The alarms of prod notify nobody. Set notificationAddress in cdk.json: an e-mail address, or "elsewhere" if you subscribe ' +
    'to the topic of the output AlarmTopicArn yourself (docs/settings.md#all-settings).';
  if (!process.stdin.isTTY) return [{ kind: 'stop', text: problem }];
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`${problem}\nDeploy without? (y/n) `);
  terminal.close();
  return [
    { kind: /^y(es)?$/i.test(answer.trim()) ? 'warning' : 'stop', text: 'The alarms of prod notify nobody.' },
  ];
}
