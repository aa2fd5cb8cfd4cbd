import { openAccount } from './account.ts';
import * as checks from './checks.ts';
import { cdk, readStage, report, runAsProcess } from './command.ts';

/**
 * `npm run deploy:staging`: looks at the account, says what it finds, and deploys the stack unless that would fail. Further
 * arguments go to `cdk deploy`.
 */
await runAsProcess(async () => {
  const [, , name, ...args] = process.argv;
  const target = readStage(name, args);
  const { stackName, settings, accountSettings } = target;
  const account = openAccount(target.profile);
  const [caller] = await Promise.allSettled([account.caller()]);
  if (!report([checks.checkCaller(caller)])) return 1;
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
    judge('The stack', stack, (found) => checks.checkStack(stackName, found)),
    judge('The bootstrap', bootstrap, checks.checkBootstrap),
    judge("API Gateway's role", gateway, ({ role }) => checks.checkLoggingRole(role, isManaged)),
    judge("API Gateway's throttle", gateway, ({ throttle }) => checks.checkThrottle(throttle, settings)),
    judge("Lambda's concurrency", concurrency, (found) => checks.checkConcurrency(found, settings, creates)),
  ];
  if (!report(findings)) {
    console.error('Nothing was deployed.');
    return 1;
  }
  const needsRole = gateway.status === 'fulfilled' && gateway.value.role === undefined;
  for (const each of checks.deploymentsOf(target, args, { creates, needsRole })) {
    const code = cdk(process.cwd(), ['deploy', ...each]);
    if (code !== 0) return code;
  }
  return 0;
});
