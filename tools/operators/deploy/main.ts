import { createInterface } from 'node:readline/promises';
import { openAccount } from './account.ts';
import { assemblyToKeep } from './assembly.ts';
import * as checks from './checks.ts';
import { deployAssembly, nothingDeployed, report, runAsProcess, synthesize } from './command.ts';
import { readTarget, type Target } from './target.ts';

const help = (stage: string) => `Usage: npm run deploy:${stage} -- [OPTIONS]

Checks the account, then the change of the tables, and deploys the stack unless that would fail or do harm.
The findings start with "ok", "warning" or "stop". Nothing is deployed after a "stop".

Options:
  -c, --context KEY=VALUE   settings for this deployment, such as 'overrides={"${stage}":{"logLevel":"DEBUG"}}'
  -a, --app FOLDER          deploy this assembly (of "cdk synth") instead of synthesizing one; only updates a stack
      --profile NAME        profile of the AWS configuration (default: AWS_PROFILE)
      --remove-table ID     confirm the removal of a table, by its logical ID
  -h, --help                show this help

All other options go to "cdk deploy", such as --require-approval never. docs/deploy.md has the steps.`;

/** `npm run deploy:staging` */
await runAsProcess(help, async (name, args) => {
  const target = readTarget(name, args);
  const { stackName, settings, accountSettings, app } = target;
  const account = openAccount(target);
  const [caller] = await Promise.allSettled([account.caller()]);
  if (!report([checks.checkCaller(caller, target)]) || caller.status === 'rejected') return nothingDeployed();
  const [stack, bootstrap, gateway, concurrency] = await Promise.allSettled([
    account.stack(stackName),
    account.bootstrap(),
    account.gateway(),
    account.concurrency(),
  ]);
  const creates = stack.status === 'fulfilled' && checks.isNew(stack.value);
  const isManaged = accountSettings === 'managed';
  const { judge } = checks;
  const findings = [
    judge('The stack', stack, (found) => checks.checkStack(target, found)),
    judge('The bootstrap', bootstrap, (version) => checks.checkBootstrap(version, caller.value)),
    judge("API Gateway's role", gateway, ({ role }) => checks.checkLoggingRole(role, isManaged)),
    judge("API Gateway's throttle", gateway, ({ throttle }) => checks.checkThrottle(throttle, settings)),
    judge("Lambda's concurrency", concurrency, (found) => checks.checkConcurrency(found, settings, creates)),
    ...(await notifications(target)),
  ];
  if (!report(findings)) return nothingDeployed();
  if (app !== undefined)
    return deployAssembly(account, target, {
      assembly: app,
      creates,
      args: ['--exclusively', ...target.rest],
    });
  const needsRole = gateway.status === 'fulfilled' && gateway.value.role === undefined;
  const assembly = assemblyToKeep(target);
  for (const context of checks.deploymentsOf(target, { creates, needsRole })) {
    let code = synthesize(process.cwd(), target, assembly, context);
    if (code === 0) code = await deployAssembly(account, target, { assembly, creates, args: target.rest });
    if (code !== 0) return code;
  }
  return 0;
});

/** Asks whether prod may have alarms that notify nobody. */
async function notifications({ stage, settings }: Target): Promise<checks.Finding[]> {
  if (stage !== 'prod' || !settings.alarms || settings.notificationAddress !== undefined) return [];
  const problem =
    'The alarms of prod notify nobody. Set notificationAddress in cdk.json: an e-mail address, or "elsewhere" if you subscribe ' +
    'to the topic of the output AlarmTopicArn yourself (docs/deploy.md#settings).';
  if (!process.stdin.isTTY) return [{ kind: 'stop', text: problem }];
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`${problem}\nDeploy without? (y/n) `);
  terminal.close();
  return [
    { kind: /^y(es)?$/i.test(answer.trim()) ? 'warning' : 'stop', text: 'The alarms of prod notify nobody.' },
  ];
}
