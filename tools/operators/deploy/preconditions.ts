import { withOverrides } from '../../../lib/configuration/context.ts';
import type { StageSettings, Throttle } from '../../../lib/configuration/settings.ts';
import { type exitCodes, explain } from '../command-line/errors.ts';
import { type Age, describeVersion } from './commits.ts';
import { type Finding, messageOf, ok, stop, warning } from './finding.ts';
import { guard } from './guard.ts';
import type { Deployment } from './deployment.ts';

// What the answers of an account mean for a deployment: one pure function for each check.

/** Who deploys, and where. */
export interface Caller {
  readonly account: string;
  readonly region: string;
  readonly arn: string;
}

export function checkCaller(
  caller: PromiseSettledResult<Caller>,
  { stage, settings }: Pick<Deployment, 'stage' | 'settings'>,
): Finding {
  if (caller.status === 'rejected')
    return stop(
      `The account cannot be checked (${messageOf(caller.reason)}). Sign in, for example with "aws sso login", set ` +
        'AWS_PROFILE and AWS_REGION, then try again.',
    );
  const { account, region, arn } = caller.value;
  if (settings.account !== undefined && settings.account !== account)
    return stop(
      `These credentials are of account ${account} (${arn}), and the stage ${stage} belongs to account ${settings.account} ` +
        '(cdk.json). Sign in to that account, or set AWS_PROFILE.',
    );
  return ok(`Account ${account}, Region ${region}, as ${arn}`);
}

/** Why nothing is deployed after a stop of `checkCaller`. */
export function kindOf(caller: PromiseSettledResult<Caller>): keyof typeof exitCodes {
  return caller.status === 'fulfilled' ? 'refused' : explain(caller.reason).kind;
}

/** @param deployed the template of the stack. Without it, nobody can say what the deployment would lose */
export function judgeTemplate(
  deployed: PromiseSettledResult<unknown>,
  next: unknown,
  confirmed: ReadonlySet<string>,
): Finding[] {
  if (deployed.status === 'fulfilled') return guard(deployed.value, next, confirmed);
  const reason = messageOf(deployed.reason);
  return [
    stop(
      `The deployed template could not be read (${reason}), so nobody can say what this deployment would lose. Permit ` +
        'cloudformation:GetTemplate.',
    ),
  ];
}

/** @param version what is deployed @param age of it, compared with the live version */
export function checkVersion(
  { stage }: Pick<Deployment, 'stage'>,
  version: string,
  live: string | undefined,
  age: Age,
): Finding {
  if (live === undefined) return ok(`Live in ${stage}: a version that did not record its commit.`);
  const is = `Live in ${stage}: ${describeVersion(live)}`;
  switch (age) {
    case 'same':
    case 'newer':
      return ok(is);
    case 'older':
      return stop(
        `${is}. What you deploy is older: ${describeVersion(version)}. To go back, use: npm run roll-back:${stage} -- ` +
          version.slice(0, 12),
      );
    case 'apart':
      return warning(`${is}. What you deploy lacks commits of it.`);
    case 'unknown':
      return warning(`${is}. This clone cannot compare it with what you deploy. Run "git fetch".`);
  }
}

/** A stack of CloudFormation, `undefined` if there is none. */
export type StackState =
  | {
      readonly status: string;
      readonly isProtected: boolean;
      /** The output `Commit`, see commits.ts. */
      readonly version?: string | undefined;
    }
  | undefined;

/** Whether a deployment creates the stack. A change set alone is none, and the CDK deletes one that failed to be created. */
export function isNew(stack: StackState): boolean {
  return (
    stack === undefined ||
    ['REVIEW_IN_PROGRESS', 'ROLLBACK_COMPLETE', 'ROLLBACK_FAILED'].includes(stack.status)
  );
}

export function checkStack(
  { stackName: name, stage, app }: Pick<Deployment, 'stackName' | 'stage' | 'app'>,
  stack: StackState,
): Finding {
  if (app !== undefined && isNew(stack))
    return stop(
      `Stack ${name} is not deployed. The first deployment is made by hand: npm run deploy:${stage}. If the stage was removed on ` +
        `purpose, set it to null in cdk.json, under "stages".`,
    );
  if (stack === undefined) return ok(`Stack ${name} does not exist. This creates it.`);
  const { status } = stack;
  if (status === 'REVIEW_IN_PROGRESS')
    return warning(
      `Stack ${name} has nothing but a change set that was not executed. This creates the stack, with new tables. If the change set ` +
        `imports tables, press Ctrl-C, and execute it first: docs/runbook.md#recover-a-deleted-stack.`,
    );
  const is = `Stack ${name} is ${status}.`;
  if (stack.isProtected && isNew(stack))
    return stop(
      `${is} It is protected, so it cannot be created again: docs/operate.md#remove-a-stage, if it has never served a request.`,
    );
  if (isNew(stack)) return warning(`${is} The CDK deletes it, then creates it again.`);
  if (status.endsWith('_IN_PROGRESS'))
    return stop(`${is} Wait until it has ended, or stop it: docs/operate.md#stop-a-canary.`);
  if (status === 'DELETE_FAILED') return stop(`${is} Delete it again: npm run cdk -- destroy ${name}.`);
  if (status.endsWith('_FAILED'))
    return stop(
      `${is} Complete its rollback: npm run cdk -- rollback ${name} (docs/operate.md#complete-a-rollback).`,
    );
  return ok(is);
}

/** The synthesizer of aws-cdk-lib needs this version of the bootstrap stack. */
const oldestBootstrap = 6;
/** `cdk rollback`, the way out of UPDATE_ROLLBACK_FAILED, needs this version of the bootstrap stack. */
const oldestForRollback = 23;

/** @param version of the stack of `cdk bootstrap`, `undefined` if there is none */
export function checkBootstrap(
  version: number | undefined,
  { account, region }: Pick<Caller, 'account' | 'region'>,
): Finding {
  const todo = `Run: npm run cdk -- bootstrap aws://${account}/${region}`;
  if (version === undefined)
    return stop(`Region ${region} of account ${account} is not bootstrapped for the CDK. ${todo}`);
  if (!(version >= oldestBootstrap))
    return stop(
      `Region ${region} is bootstrapped with version ${version}, and the CDK needs ${oldestBootstrap}. ${todo}`,
    );
  if (version < oldestForRollback)
    return warning(
      `Region ${region} is bootstrapped with version ${version}. If a deployment and its rollback fail, "npm run cdk -- rollback" ` +
        `needs version ${oldestForRollback}. ${todo}`,
    );
  return ok(`Region ${region} is bootstrapped with version ${version}.`);
}

/**
 * API Gateway takes the certificate of a Regional domain only from ACM of its own account and Region.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-regional-api-custom-domain-create.html
 */
export function checkCertificate(
  { account, region }: Pick<Caller, 'account' | 'region'>,
  { name, certificateArn }: NonNullable<StageSettings['domain']>,
): Finding {
  const [, , , itsRegion, itsAccount] = certificateArn.split(':');
  if (itsRegion === region && itsAccount === account)
    return ok(`The certificate of ${name} is of this account and Region.`);
  return stop(
    `The certificate of ${name} is of account ${itsAccount}, Region ${itsRegion}. API Gateway needs one of account ${account}, Region ` +
      `${region}: issue it in ACM there, and set domain.certificateArn.`,
  );
}

/** @param exists whether CloudFormation can create budgets in the Region */
export function checkBudget(exists: boolean): Finding {
  if (exists) return ok('CloudFormation can create the budget.');
  return stop(
    'CloudFormation cannot create budgets in this Region. Remove monthlyBudget from cdk.json, and create the budget in Billing: it is ' +
      'for the whole account.',
  );
}

/** @param role the role with which API Gateway logs in this account and Region @param isManaged by the setting */
export function checkLoggingRole(role: string | undefined, isManaged: boolean): Finding {
  if (role === undefined)
    return ok('API Gateway has no role to write logs. The stack AnimalStore-account gives it one.');
  if (!isManaged) return ok(`API Gateway writes logs with the role ${role}, which stays.`);
  return warning(
    `API Gateway writes logs with the role ${role}. The setting accountSettings replaces it with that of the ` +
      'stack AnimalStore-account, for all APIs of the account. Remove the setting to keep it.',
  );
}

/** @param actual the throttle of the account in this Region */
export function checkThrottle(actual: Throttle, { accountThrottle: assumed }: StageSettings): Finding {
  const text = ({ requestsPerSecond, burst }: Throttle) =>
    `${requestsPerSecond} requests a second, bursts of ${burst}`;
  const todo = `Set the stage's accountThrottle to ${JSON.stringify(actual)} in cdk.json: docs/settings.md#all-settings.`;
  const account = `API Gateway permits the account ${text(actual)}`;
  if (actual.requestsPerSecond < assumed.requestsPerSecond || actual.burst < assumed.burst)
    return stop(`${account}; the settings assume ${text(assumed)}, which it would refuse. ${todo}`);
  if (actual.requestsPerSecond > assumed.requestsPerSecond || actual.burst > assumed.burst)
    return warning(`${account}; the settings use ${text(assumed)}. To use more: ${todo}`);
  return ok(`${account}.`);
}

/** Executions that stay free for functions without a reservation: Lambda refuses to reserve them. */
const unreservable = 100;
/** The checks of a deployment run five hooks at once, each with one invocation: functions/delivery/check-versions.ts. */
const forChecks = 10;

export interface Concurrency {
  readonly limit: number;
  /** The executions that no function of the account reserves. */
  readonly unreserved: number;
}

export function checkConcurrency(
  { limit, unreserved }: Concurrency,
  { functions, accountConcurrency: assumed }: StageSettings,
  creates: boolean,
): Finding {
  const reserved = Object.values(functions).reduce((sum, each) => sum + (each.reservedConcurrency ?? 0), 0);
  // What is reserved already may be for the functions of this stack.
  const possible = (creates ? unreserved : limit) - Math.min(unreservable, limit);
  const account = `Lambda permits the account ${limit} concurrent executions, ${unreserved} of them not reserved`;
  const request = 'Request more in Service Quotas ("Concurrent executions")';
  if (reserved > possible)
    return stop(
      `${account}; at most ${Math.max(possible, 0)} can be reserved, and the settings reserve ${reserved}. ` +
        `${request}, or lower reservedConcurrency.`,
    );
  const left = creates ? unreserved - reserved : unreserved;
  if (left < unreservable)
    return warning(
      `${account}. The checks of a deployment take up to ${forChecks}, and clients get 503 above it. ${request}.`,
    );
  if (limit !== assumed)
    return warning(
      `${account}. The alarm account-concurrency goes off at 80 % of ${assumed}: set the stage's accountConcurrency to ${limit} in ` +
        'cdk.json.',
    );
  return ok(`${account}.`);
}

/**
 * The context of each deployment, one after another.
 *
 * A stack and tables that are protected while they are created could not be deleted if that fails, so the protection comes with a
 * second deployment.
 */
export function deploymentsOf(
  { stage, settings, context }: Pick<Deployment, 'stage' | 'settings' | 'context'>,
  { creates, needsRole }: { readonly creates: boolean; readonly needsRole: boolean },
): readonly (readonly string[])[] {
  const role = needsRole ? ['-c', 'accountSettings=managed'] : [];
  if (!creates || !settings.deletionProtection) return [role];
  const overrides = withOverrides(context, stage, { deletionProtection: false });
  return [[...role, '-c', `overrides=${overrides}`], role];
}
