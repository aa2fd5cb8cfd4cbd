import { fullDiff, ResourceImpact, type ResourceDifference } from '@aws-cdk/cloudformation-diff';
import { z } from 'zod';
import { type Finding, stop, warning } from './finding.ts';
import { indexConflicts, retypedKey, tableTypes } from './table-changes.ts';
import { type Template, template, uses } from './template.ts';

/**
 * The one guard of every deployment, roll back and pull request: it compares the new template with the deployed one. What has an
 * address, an identity, data or a duty is not deleted, replaced or left behind, unless its logical ID was confirmed.
 */

/** What is lost with a resource of a type. All types are kept that are not in `replaceable`. */
const loss: Readonly<Record<string, string>> = {
  'AWS::ApiGateway::BasePathMapping': 'Requests to the domain get 403.',
  'AWS::ApiGateway::DomainName': 'Clients that use the domain cannot reach the API.',
  'AWS::ApiGateway::RestApi':
    'Clients need another address, unless they use a domain, and all keys get 401 until "npm run keys -- repair" has ended.',
  'AWS::ApiGateway::Stage': 'All keys get 401 until "npm run keys -- repair" has ended.',
  'AWS::ApiGateway::UsagePlan': 'Its keys get 401 until "npm run keys -- repair" has ended.',
  'AWS::Budgets::Budget': 'Nobody is told before the budget is spent.',
  'AWS::CloudWatch::Alarm': 'Nobody is told, and no canary stops, when what it watches goes wrong.',
  'AWS::CodeDeploy::Application': 'New versions get all requests at once, without preconditions.',
  'AWS::DynamoDB::GlobalTable': 'Its data is gone for the service.',
  'AWS::DynamoDB::Table': 'Its data is gone for the service.',
  'AWS::Lambda::Alias': 'The new version gets all requests at once, without checks and canary.',
  'AWS::Logs::LogGroup': 'The saved queries no longer find its lines.',
  'AWS::Logs::MetricFilter': 'The alarm of its metric sees nothing.',
  'AWS::Route53::RecordSet': 'Clients do not find the address.',
  'AWS::SNS::Subscription': 'The address gets no more alarms. A new address has to confirm an e-mail first.',
  'AWS::SNS::Topic': 'Whoever subscribed to it gets no more alarms.',
  'AWS::SNS::TopicPolicy': 'Alarms may not be able to notify anybody.',
  'AWS::WAFv2::WebACL': 'A flood from one address is no longer limited.',
  'AWS::WAFv2::WebACLAssociation': 'A flood from one address is no longer limited.',
};

/** Types that new code or a setting may replace or remove: nothing outside of the stack knows them, and they hold no data. */
const replaceable: ReadonlySet<string> = new Set([
  'AWS::ApiGateway::Authorizer',
  'AWS::ApiGateway::Deployment',
  'AWS::ApiGateway::GatewayResponse',
  'AWS::ApiGateway::Method',
  'AWS::ApiGateway::Resource',
  'AWS::CDK::Metadata',
  'AWS::CloudWatch::Dashboard',
  'AWS::CodeDeploy::DeploymentConfig',
  'AWS::CodeDeploy::DeploymentGroup',
  'AWS::IAM::Policy',
  'AWS::IAM::Role',
  'AWS::Lambda::Function',
  'AWS::Lambda::Permission',
  'AWS::Lambda::Version',
  'AWS::Logs::QueryDefinition',
]);

/** Whether somebody has decided about a type. */
export function isDecided(type: string): boolean {
  return replaceable.has(type) || type in loss;
}

/**
 * What stops the new template from being deployed over the deployed one. A confirmed loss is a warning, and so is what takes long.
 *
 * @param confirmed logical IDs
 * @throws ZodError if one of them is no template
 */
export function guard(
  deployed: unknown,
  next: unknown,
  confirmed: ReadonlySet<string> = new Set(),
): Finding[] {
  const before = template.parse(deployed);
  const after = template.parse(next);
  const losses: { readonly id: string; readonly text: string; readonly isUsed: boolean }[] = [];
  fullDiff(before, after).resources.forEachDifference((id, change) => {
    const what = whatHappens(id, change, before, after);
    if (what === undefined) {
      const inside = lostInside(id, before, after);
      if (inside !== undefined) losses.push({ id, isUsed: false, text: inside });
      return;
    }
    const type = before.Resources[id]!.Type;
    const isUsed = tableTypes.has(type) && uses(before, `\${${id}.Arn}`);
    const consequence =
      loss[type] ?? 'Nobody has said yet what it is for: add its type to tools/operators/deploy/guard.ts.';
    losses.push({ id, isUsed, text: `${id} (${type}) ${what}. ${consequence}${isUsed ? ` ${advice}` : ''}` });
  });
  const open = losses.filter(({ id, isUsed }) => isUsed || !confirmed.has(id));
  const confirmable = open.filter(({ isUsed }) => !isUsed).map(({ id }) => id);
  return [
    ...tlsPolicies(before, after).map(warning),
    ...losses.filter((each) => !open.includes(each)).map(({ text }) => warning(`${text} This is confirmed.`)),
    ...open.map(({ text }) => stop(text)),
    ...(confirmable.length === 0 ? [] : [stop(howToConfirm(confirmable))]),
    ...[...tableConflicts(before, after), ...provisionedConcurrency(before, after)].map(stop),
  ];
}

const advice =
  'The live version uses it, so this cannot be confirmed. To remove it, first deploy a version that does not use it and has no ' +
  'permission for it. To change it, add a second table, write to both, copy the data, read from the new one, then remove the old ' +
  'one: a deployment for each.';

function howToConfirm(ids: readonly string[]): string {
  return (
    'Undo what you did not intend: give a renamed construct its old ID, a removed setting its old value. Confirm the rest with ' +
    `${ids.map((id) => `--confirm-loss ${id}`).join(' ')}, or with lines "Confirm-loss: ID" in a commit message ` +
    '(docs/operate.md#confirm-a-loss).'
  );
}

/** What the change does to something that is kept. `undefined`: nothing. */
function whatHappens(
  id: string,
  change: ResourceDifference,
  before: Template,
  after: Template,
): string | undefined {
  const old = before.Resources[id];
  if (old === undefined || replaceable.has(old.Type)) return undefined;
  const impact = change.changeImpact;
  if (impact === ResourceImpact.WILL_DESTROY)
    return belongsToRemoved(id, before, after) ? undefined : 'is deleted';
  if (impact === ResourceImpact.WILL_ORPHAN) return 'leaves the stack, and stays in the account';
  const replaced = Object.entries(change.propertyUpdates)
    .filter(([, { changeImpact }]) => changeImpact === impact)
    .map(([name]) => name)
    .join(', ');
  if (impact === ResourceImpact.WILL_REPLACE)
    return `is replaced by a new one, because its ${replaced || 'type'} changes`;
  if (impact === ResourceImpact.MAY_REPLACE)
    return `may be replaced by a new one, because its ${replaced} changes`;
  const key = tableTypes.has(old.Type)
    ? retypedKey(old.Properties, after.Resources[id]?.Properties)
    : undefined;
  return key === undefined ? undefined : `is replaced by a new one, because the type of ${key} changes`;
}

/** Whether an alarm or alias is only about functions that are removed with it. */
function belongsToRemoved(id: string, before: Template, after: Template): boolean {
  const { Type: type, Properties: properties } = before.Resources[id]!;
  if (type !== 'AWS::CloudWatch::Alarm' && type !== 'AWS::Lambda::Alias') return false;
  const text = JSON.stringify(properties);
  const functions = Object.entries(before.Resources).filter(
    ([other, { Type }]) => Type === 'AWS::Lambda::Function' && text.includes(`{"Ref":"${other}"}`),
  );
  return functions.length > 0 && functions.every(([other]) => after.Resources[other] === undefined);
}

/** What a change destroys inside of something that stays: CloudFormation calls it an update. `undefined`: nothing. */
function lostInside(id: string, before: Template, after: Template): string | undefined {
  const [old, now] = [before.Resources[id], after.Resources[id]];
  if (old === undefined || now === undefined) return undefined;
  const subject = `${id} (${old.Type})`;
  if (tableTypes.has(old.Type) && isRecoverable(old) && !isRecoverable(now))
    return `${subject} loses its point-in-time recovery. It can never again be restored to a time before this.`;
  if (old.Type === 'AWS::Logs::LogGroup' && daysKept(now) < daysKept(old))
    return `${subject} is kept for ${daysKept(now)} days. AWS deletes the lines that are older.`;
  if (old.Type === 'AWS::Lambda::Alias' && isChecked(old) && !isChecked(now))
    return `${subject} loses its CodeDeploy deployments. ${loss[old.Type]}`;
  return undefined;
}

type Resource = Template['Resources'][string];

/** Whether a table can be recovered to a point in time. A global table can if one of its Regions can. */
function isRecoverable({ Properties }: Resource): boolean {
  return JSON.stringify(Properties).includes('"PointInTimeRecoveryEnabled":true');
}

function daysKept({ Properties }: Resource): number {
  return z.number().default(Infinity).parse(Properties['RetentionInDays']);
}

function isChecked({ UpdatePolicy }: Resource): boolean {
  return JSON.stringify(UpdatePolicy ?? {}).includes('"CodeDeployLambdaAliasUpdate"');
}

function tableConflicts(before: Template, after: Template): string[] {
  return Object.entries(before.Resources)
    .filter(([id, { Type }]) => tableTypes.has(Type) && after.Resources[id]?.Type === Type)
    .flatMap(([id]) => indexConflicts(id, before, after));
}

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-security-policies.html */
function tlsPolicies(before: Template, after: Template): string[] {
  const policyOf = ({ Resources }: Template, id: string) => Resources[id]?.Properties['SecurityPolicy'];
  return Object.entries(before.Resources)
    .filter(
      ([id, { Type }]) => after.Resources[id]?.Type === Type && policyOf(before, id) !== policyOf(after, id),
    )
    .map(
      ([id, { Type }]) =>
        `${id} (${Type}) changes its TLS policy from ${String(policyOf(before, id))} to ${String(policyOf(after, id))}. API Gateway takes 15 ` +
        'minutes to an hour for it, and refuses other changes of it meanwhile.',
    );
}

const alias = z.object({
  FunctionName: z.unknown(),
  FunctionVersion: z.unknown(),
  ProvisionedConcurrencyConfig: z.unknown().optional(),
});

/**
 * CloudFormation removes provisioned concurrency from an alias while CodeDeploy still divides its requests, which Lambda refuses,
 * in the roll back too: https://github.com/aws/serverless-application-model/issues/1353
 */
function provisionedConcurrency(before: Template, after: Template): string[] {
  return Object.entries(before.Resources)
    .filter(([id, { Type }]) => Type === 'AWS::Lambda::Alias' && after.Resources[id]?.Type === Type)
    .filter(([id, { Properties }]) => {
      const [old, now] = [alias.parse(Properties), alias.parse(after.Resources[id]?.Properties)];
      const isRemoved =
        old.ProvisionedConcurrencyConfig !== undefined && now.ProvisionedConcurrencyConfig === undefined;
      return isRemoved && JSON.stringify(old.FunctionVersion) !== JSON.stringify(now.FunctionVersion);
    })
    .map(
      ([id]) =>
        `${id} (AWS::Lambda::Alias) loses its provisioned concurrency and gets a new version in one deployment, which ends in ` +
        'UPDATE_ROLLBACK_FAILED. Use two: first deploy the new version with provisionedConcurrency as it is, then remove the setting ' +
        'and deploy the same version again.',
    );
}
