import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { functionEntries } from '../../../functions/operations.ts';
import { tableAccess } from '../../../lib/table-access.ts';
import { titleCase } from '../../../lib/title-case.ts';
import {
  arnOf,
  functionsOf,
  hookOf,
  idOf,
  joined,
  ref,
  resourcesIfAny,
  resourcesOf,
  type Stack,
  stackOf,
  synthesize,
  theResource,
} from './synthesis.ts';

const prod = stackOf('AnimalStore-prod');
const account = stackOf('AnimalStore-account');
const delivery = stackOf('AnimalStore-delivery');

const statement = z.object({
  Sid: z.string().optional(),
  Effect: z.string(),
  Action: z.union([z.string(), z.array(z.string())]).transform((actions) => [actions].flat()),
  Resource: z.unknown().transform((resources) => (Array.isArray(resources) ? resources : [resources])),
});
type Statement = z.output<typeof statement>;
const document = z.object({ Statement: z.array(statement) });
const policy = z.object({ PolicyDocument: document, Roles: z.array(z.object({ Ref: z.string() })) });
const role = z.object({
  AssumeRolePolicyDocument: z.object({ Statement: z.array(z.record(z.string(), z.unknown())) }),
  ManagedPolicyArns: z.array(z.unknown()).default([]),
  Policies: z.array(z.unknown()).default([]),
});
const allow = (actions: string[], ...resources: unknown[]) => ({
  Effect: 'Allow',
  Action: actions,
  Resource: resources,
});
// The snapshot of the templates shows roles, policies and permissions for review. These are rules for those to come.

describe('a function', () => {
  const functions = functionsOf(prod);

  it.each(functionEntries)(
    'may do only what functions/operations.ts says, and write its own logs and traces: %s',
    (entry) => {
      const { Role, LoggingConfig } = functions.get(entry)!;
      const statements = statementsOf(prod, Role);
      const [logs, ...others] = statements;
      expect(logs).toEqual(
        allow(['logs:CreateLogStream', 'logs:PutLogEvents'], arnOf(LoggingConfig.LogGroup)),
      );
      const traces = others.filter(({ Action }) => Action.some((action) => action.startsWith('xray:')));
      // X-Ray's actions support no resource.
      expect(traces).toEqual([allow(['xray:PutTelemetryRecords', 'xray:PutTraceSegments'], '*')]);
      const data = others.filter((each) => !traces.includes(each));
      const allowed = data.flatMap(({ Action, Resource }) =>
        Resource.map((resource) => `${Action.join()} ${JSON.stringify(resource)}`),
      );
      expect(allowed.toSorted()).toEqual(
        tableAccess(entry)
          .flatMap(({ table, action, indexes }) => {
            const arn = arnOf(idOf(prod.Outputs[`${titleCase(table)}TableName`]?.Value));
            const resources = indexes?.map((index) => joined(arn, `/index/${index}`)) ?? [arn];
            return resources.map((resource) => `dynamodb:${action} ${JSON.stringify(resource)}`);
          })
          .toSorted(),
      );
    },
  );

  it('has its own role and log group', () => {
    const all = [...functions.values()];
    expect(new Set(all.map(({ Role }) => Role)).size).toBe(all.length);
    expect(new Set(all.map(({ LoggingConfig }) => LoggingConfig.LogGroup)).size).toBe(all.length);
  });
});

describe('the hook that checks new versions', () => {
  it('may invoke any version of every function, report, and store its idempotency key', () => {
    const { Role } = hookOf(prod);
    const [logs, ...others] = statementsOf(prod, Role);
    expect(logs!.Action).toEqual(['logs:CreateLogStream', 'logs:PutLogEvents']);
    expect(others).toEqual([
      allow(['lambda:InvokeFunction'], ...others[0]!.Resource),
      allow(
        ['codedeploy:PutLifecycleEventHookExecutionStatus'],
        ...functionEntries.map(() => expect.anything()),
      ),
      allow(['dynamodb:PutItem'], arnOf(idOf(prod.Outputs['IdempotencyTableName']?.Value))),
    ]);
    const versions = [...functionsOf(prod).values()].map(({ id }) => joined(arnOf(id), ':*'));
    expect(new Set(others[0]!.Resource)).toEqual(new Set(versions));
  });
});

describe('every stack', () => {
  const stacks = [...synthesize('default')];

  /** That of the account has no policy of its own. */
  const withPolicies = stacks.filter(([name]) => name !== 'AnimalStore-account');

  it('has policies, or none of them', () => {
    expect(resourcesIfAny(account, 'AWS::IAM::Policy')).toEqual([]);
    expect(withPolicies).toHaveLength(3);
  });

  it.each(withPolicies)('has no wildcard in actions: %s', (_, stack) => {
    expect(
      allStatements(stack).flatMap(({ Action }) => Action.filter((action) => action.includes('*'))),
    ).toEqual([]);
  });

  it.each(withPolicies)('uses the resource * only for actions that support no other: %s', (_, stack) => {
    const wide = allStatements(stack).filter(({ Resource }) => Resource.includes('*'));
    const known = new Set([
      'xray:PutTelemetryRecords',
      'xray:PutTraceSegments',
      'cloudwatch:DescribeAlarms',
      'lambda:GetAccountSettings',
      'cloudformation:DescribeType',
    ]);
    expect(wide.flatMap(({ Action }) => Action).filter((action) => !known.has(action))).toEqual([]);
  });

  it.each(stacks)('uses no AWS managed policy and no inline policy: %s', (name, stack) => {
    for (const [, { Properties }] of resourcesOf(stack, 'AWS::IAM::Role')) {
      const { ManagedPolicyArns, Policies } = role.parse(Properties);
      expect(Policies).toEqual([]);
      // account-stack.ts says why API Gateway requires this one for its logs.
      const required = joined(
        'arn:',
        ref('AWS::Partition'),
        ':iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs',
      );
      expect(ManagedPolicyArns).toEqual(name === 'AnimalStore-account' ? [required] : []);
    }
  });
});

const roleOf = (output: string): string => idOf(delivery.Outputs[output]?.Value);

describe('a delivery workflow', () => {
  it.each([
    ['DeployRoleArnStaging', 'environment:staging'],
    ['DeployRoleArnProd', 'environment:prod'],
    ['DiffRoleArn', 'pull_request'],
  ])(
    'has its role only with a token that GitHub made for AWS and for this kind of run: %s',
    (output, subject) => {
      const issuer = 'token.actions.githubusercontent.com';
      expect(trustOf(delivery, roleOf(output))).toEqual([
        {
          Effect: 'Allow',
          Action: 'sts:AssumeRoleWithWebIdentity',
          Principal: { Federated: ref(theResource(delivery, 'AWS::IAM::OIDCProvider')[0]) },
          Condition: {
            StringEquals: {
              [`${issuer}:aud`]: 'sts.amazonaws.com',
              [`${issuer}:sub`]: `repo:owner/repository:${subject}`,
            },
          },
        },
      ]);
    },
  );

  it.each(['DeployRoleArnStaging', 'DeployRoleArnProd'])(
    'has its role for as long as it requests: %s',
    (output) => {
      const action = readFileSync('.github/actions/deploy/action.yml', 'utf8');
      const asked = Number(/role-duration-seconds: (\d+)/.exec(action)?.[1]);
      expect(delivery.Resources[roleOf(output)]?.Properties['MaxSessionDuration']).toBe(asked);
    },
  );

  it.each([
    ['AnimalStore-staging', '111111111111:role/cdk-shelter-deploy-role-111111111111-eu-west-1'],
    ['AnimalStore-prod', '222222222222:role/cdk-shelter-deploy-role-222222222222-eu-central-1'],
  ])('of its own account assumes the roles of its bootstrap: %s', (stage, deployRole) => {
    const stack = synthesize('accounts').get(stage.replace('AnimalStore', 'AnimalStore-delivery'))!;
    const assume = allStatements(stack).find(({ Action }) => Action.includes('sts:AssumeRole'));
    expect(assume?.Resource).toContain(`arn:aws:iam::${deployRole}`);
  });

  it('has deploy roles only for the stages of the account', () => {
    const { Outputs } = synthesize('existing').get('AnimalStore-delivery')!;
    expect(Object.keys(Outputs).toSorted()).toEqual(['DeployRoleArnProd', 'DiffRoleArn']);
  });

  it('can use the OIDC provider that the account already has', () => {
    const stack = synthesize('existing').get('AnimalStore-delivery')!;
    expect(resourcesIfAny(stack, 'AWS::IAM::OIDCProvider')).toEqual([]);
    const roles = resourcesOf(stack, 'AWS::IAM::Role');
    expect(roles.length).toBe(2);
    const existing = joined(
      'arn:',
      ref('AWS::Partition'),
      ':iam::',
      ref('AWS::AccountId'),
      ':oidc-provider/token.actions.githubusercontent.com',
    );
    for (const [id] of roles) {
      expect(trustOf(stack, id)).toMatchObject([{ Principal: { Federated: existing } }]);
    }
  });
});

describe('the role for the logs of API Gateway', () => {
  it('is retained when its stack is deleted, because other APIs may use it', () => {
    for (const type of ['AWS::IAM::Role', 'AWS::ApiGateway::Account']) {
      const [, { DeletionPolicy, UpdateReplacePolicy }] = theResource(account, type);
      expect({ DeletionPolicy, UpdateReplacePolicy }).toEqual({
        DeletionPolicy: 'Retain',
        UpdateReplacePolicy: 'Retain',
      });
    }
  });

  it('is set once for the account, not by each stage', () => {
    for (const stage of ['staging', 'prod']) {
      expect(resourcesIfAny(stackOf(`AnimalStore-${stage}`), 'AWS::ApiGateway::Account')).toEqual([]);
    }
    const [, settings] = theResource(account, 'AWS::ApiGateway::Account');
    const [roleId] = theResource(account, 'AWS::IAM::Role');
    expect(settings.Properties['CloudWatchRoleArn']).toEqual(arnOf(roleId));
    // The role is there with its policy, because API Gateway checks its permissions when the account setting is updated.
    expect(settings.DependsOn).toContain(roleId);
  });

  it.each(['AnimalStore-staging', 'AnimalStore-prod', 'AnimalStore-delivery'])(
    'is deployed before %s',
    (name) => {
      expect(stackOf(name).dependencies).toEqual(['AnimalStore-account']);
    },
  );

  it('is not changed unless accountSettings asks for it', () => {
    expect([...synthesize('existing').keys()]).not.toContain('AnimalStore-account');
  });
});

/** The statements of all policies of a role. */
function statementsOf(stack: Stack, roleId: string): Statement[] {
  return resourcesOf(stack, 'AWS::IAM::Policy')
    .map(([, { Properties }]) => policy.parse(Properties))
    .filter(({ Roles }) => Roles.some(({ Ref }) => Ref === roleId))
    .flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
}

/** The trust policy of a role. */
function trustOf(stack: Stack, roleId: string): readonly Record<string, unknown>[] {
  return role.parse(stack.Resources[roleId]?.Properties).AssumeRolePolicyDocument.Statement;
}

function allStatements(stack: Stack): Statement[] {
  return resourcesOf(stack, 'AWS::IAM::Policy').flatMap(
    ([, { Properties }]) => policy.parse(Properties).PolicyDocument.Statement,
  );
}
