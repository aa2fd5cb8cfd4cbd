import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { functionEntries, operations, tableAccess } from '../../lib/operations.ts';
import { titleCase } from '../../lib/title-case.ts';
import {
  arnOf,
  functionsOf,
  hookOf,
  idOf,
  joined,
  ref,
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
  Principal: z.unknown().optional(),
  Condition: z.unknown().optional(),
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
describe('a function', () => {
  const functions = functionsOf(prod);

  // The snapshot of the templates shows the policies themselves for review.
  it.each(functionEntries)(
    'may do only what lib/operations.ts says, and write its own logs and traces: %s',
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
          .map(({ table, action, index }) => {
            const arn = arnOf(idOf(prod.Outputs[`${titleCase(table)}TableName`]?.Value));
            const resource = index === undefined ? arn : joined(arn, `/index/${index}`);
            return `dynamodb:${action} ${JSON.stringify(resource)}`;
          })
          .toSorted(),
      );
    },
  );

  it.each(operations.filter(({ method }) => method === 'GET'))(
    'that reads cannot write animals: $entry',
    ({ pets }) => {
      expect(['Query', 'GetItem']).toContain(pets.action);
    },
  );

  it.each(functionEntries)('has a role that only Lambda can assume: %s', (entry) => {
    expect(trustOf(prod, functions.get(entry)!.Role)).toEqual([assumedBy('lambda.amazonaws.com')]);
  });

  it('has its own role and log group', () => {
    const all = [...functions.values()];
    expect(new Set(all.map(({ Role }) => Role)).size).toBe(all.length);
    expect(new Set(all.map(({ LoggingConfig }) => LoggingConfig.LogGroup)).size).toBe(all.length);
  });

  it('can be invoked by this API through its live alias, and otherwise only by the checks of a deployment', () => {
    const aliases = resourcesOf(prod, 'AWS::Lambda::Alias').map(([id]) => ref(id));
    const [apiId] = theResource(prod, 'AWS::ApiGateway::RestApi');
    const calls = resourcesOf(prod, 'AWS::Lambda::Permission').map(([, { Properties }]) => Properties);
    // The methods and the authorizer.
    expect(calls).toHaveLength(resourcesOf(prod, 'AWS::ApiGateway::Method').length + 1);
    for (const { Action, Principal, FunctionName, SourceArn } of calls) {
      expect({ Action, Principal }).toEqual({
        Action: 'lambda:InvokeFunction',
        Principal: 'apigateway.amazonaws.com',
      });
      expect(aliases).toContainEqual(FunctionName);
      expect(JSON.stringify(SourceArn)).toContain(JSON.stringify(ref(apiId)));
      // Not by the test feature of API Gateway's console.
      expect(JSON.stringify(SourceArn)).not.toContain('test-invoke-stage');
    }
    const roles = resourcesOf(prod, 'AWS::IAM::Role').map(([id]) => id);
    const arns = [...functions.values()].map(({ id }) => JSON.stringify(arnOf(id)));
    const invokes = ({ Action, Resource }: Statement): boolean =>
      Action.includes('lambda:InvokeFunction') && arns.some((arn) => JSON.stringify(Resource).includes(arn));
    expect(roles.filter((id) => statementsOf(prod, id).some((each) => invokes(each)))).toEqual([
      hookOf(prod).Role,
    ]);
  });
});

describe('CodeDeploy', () => {
  it('can move the live aliases of this stack, call its hook and read alarms, and nothing else', () => {
    const [, group] = resourcesOf(prod, 'AWS::CodeDeploy::DeploymentGroup')[0]!;
    const roleId = idOf(group.Properties['ServiceRoleArn']);
    const functions = [...functionsOf(prod)];
    const functionIds = functions.map(([, { id }]) => id);
    const [alarms, hook, moves, ...others] = statementsOf(prod, roleId);
    expect(alarms).toEqual(allow(['cloudwatch:DescribeAlarms'], '*'));
    expect(moves?.Action).toEqual([
      'lambda:GetAlias',
      'lambda:GetProvisionedConcurrencyConfig',
      'lambda:UpdateAlias',
    ]);
    expect(inOrder(moves?.Resource ?? [])).toEqual(
      inOrder(functionIds.flatMap((id) => [arnOf(id), joined(arnOf(id), ':live')])),
    );
    expect(hook).toEqual(allow(['lambda:InvokeFunction'], arnOf(hookOf(prod).id)));
    expect(others).toEqual([]);
    expect(trustOf(prod, roleId)).toEqual([assumedBy('codedeploy.amazonaws.com')]);
  });

  it('has a hook that can invoke every version, prepare its checks and report, and nothing else', () => {
    const { Role } = hookOf(prod);
    const [logs, invoke, report, prepare, ...others] = statementsOf(prod, Role);
    expect(logs?.Action).toEqual(['logs:CreateLogStream', 'logs:PutLogEvents']);
    // Not the new versions alone: that permission would be seconds old.
    const versions = [...functionsOf(prod).values()].map(({ id }) => joined(arnOf(id), ':*'));
    expect(invoke?.Action).toEqual(['lambda:InvokeFunction']);
    expect(inOrder(invoke?.Resource ?? [])).toEqual(inOrder(versions));
    expect(report?.Action).toEqual(['codedeploy:PutLifecycleEventHookExecutionStatus']);
    const groups = report?.Resource.map((each) => /[\w-]+(?="\]\]\})/.exec(JSON.stringify(each))?.[0]);
    expect(new Set(groups)).toEqual(new Set(functionEntries));
    const idempotency = arnOf(idOf(prod.Outputs['IdempotencyTableName']?.Value));
    expect(prepare).toEqual(allow(['dynamodb:PutItem'], idempotency));
    expect(others).toEqual([]);
    expect(trustOf(prod, Role)).toEqual([assumedBy('lambda.amazonaws.com')]);
  });
});

describe('every stack', () => {
  const stacks = [...synthesize('default')];

  it.each(stacks)('has no wildcard in actions: %s', (_, stack) => {
    expect(
      allStatements(stack).flatMap(({ Action }) => Action.filter((action) => action.includes('*'))),
    ).toEqual([]);
  });

  it.each(stacks)('uses the resource * only for actions that support no other: %s', (_, stack) => {
    const wide = allStatements(stack).filter(({ Resource }) => Resource.includes('*'));
    const known = new Set(['xray:PutTelemetryRecords', 'xray:PutTraceSegments', 'cloudwatch:DescribeAlarms']);
    expect(wide.flatMap(({ Action }) => Action).filter((action) => !known.has(action))).toEqual([]);
  });

  it.each(stacks)('uses no AWS managed policy and no inline policy: %s', (name, stack) => {
    for (const [, { Properties }] of resourcesOf(stack, 'AWS::IAM::Role')) {
      const { ManagedPolicyArns, Policies } = role.parse(Properties);
      expect(Policies).toEqual([]);
      // API Gateway requires this one for its logs, see account-stack.ts.
      const required = joined(
        'arn:',
        ref('AWS::Partition'),
        ':iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs',
      );
      expect(ManagedPolicyArns).toEqual(name === 'AnimalStore-account' ? [required] : []);
    }
  });
});

describe('the topic of the alarms', () => {
  const [topicId] = theResource(prod, 'AWS::SNS::Topic');
  const [, topicPolicy] = theResource(prod, 'AWS::SNS::TopicPolicy');
  const { Statement } = document.parse(topicPolicy.Properties['PolicyDocument']);

  it('accepts messages over TLS only', () => {
    expect(Statement).toContainEqual(
      expect.objectContaining({
        Effect: 'Deny',
        Principal: '*',
        Action: ['sns:Publish'],
        Condition: { Bool: { 'aws:SecureTransport': 'false' } },
      }),
    );
  });

  it('accepts messages only from the alarms of this stack', () => {
    expect(Statement.filter(({ Effect }) => Effect === 'Allow')).toEqual([
      expect.objectContaining({
        Principal: { Service: 'cloudwatch.amazonaws.com' },
        Action: ['sns:Publish'],
        Resource: [ref(topicId)],
        Condition: {
          StringEquals: { 'aws:SourceAccount': ref('AWS::AccountId') },
          ArnLike: {
            'aws:SourceArn': joined(
              'arn:',
              ref('AWS::Partition'),
              ':cloudwatch:',
              ref('AWS::Region'),
              ':',
              ref('AWS::AccountId'),
              ':alarm:AnimalStore-prod-*',
            ),
          },
        },
      }),
    ]);
  });
});

const trusted = (subject: string) => ({
  Action: 'sts:AssumeRoleWithWebIdentity',
  Effect: 'Allow',
  Principal: { Federated: ref(theResource(delivery, 'AWS::IAM::OIDCProvider')[0]) },
  Condition: {
    StringEquals: {
      'token.actions.githubusercontent.com:aud': 'sts.amazonaws.com',
      'token.actions.githubusercontent.com:sub': `repo:owner/repository:${subject}`,
    },
  },
});
const bootstrapRole = (part: string) =>
  joined(
    'arn:',
    ref('AWS::Partition'),
    ':iam::',
    ref('AWS::AccountId'),
    `:role/cdk-hnb659fds-${part}-role-`,
    ref('AWS::AccountId'),
    '-',
    ref('AWS::Region'),
  );
const roleOf = (output: string): string => idOf(delivery.Outputs[output]?.Value);

describe('a delivery workflow', () => {
  it.each([
    ['DeployRoleArnStaging', 'environment:staging'],
    ['DeployRoleArnProd', 'environment:prod'],
    ['DiffRoleArn', 'pull_request'],
  ])('can assume its role only from its environment or event: %s', (output, subject) => {
    expect(trustOf(delivery, roleOf(output))).toEqual([trusted(subject)]);
  });

  it('presents tokens that GitHub issued for AWS', () => {
    expect(theResource(delivery, 'AWS::IAM::OIDCProvider')[1].Properties).toEqual({
      Url: 'https://token.actions.githubusercontent.com',
      ClientIdList: ['sts.amazonaws.com'],
    });
  });

  it.each(['DeployRoleArnStaging', 'DeployRoleArnProd'])(
    'that deploys can assume the roles of `cdk bootstrap` and nothing else, for as long as it requests: %s',
    (output) => {
      expect(statementsOf(delivery, roleOf(output))).toEqual([
        allow(
          ['sts:AssumeRole'],
          ...['deploy', 'file-publishing', 'lookup'].map((part) => bootstrapRole(part)),
        ),
      ]);
      const action = readFileSync('.github/actions/deploy/action.yml', 'utf8');
      const asked = Number(/role-duration-seconds: (\d+)/.exec(action)?.[1]);
      expect(delivery.Resources[roleOf(output)]?.Properties['MaxSessionDuration']).toBe(asked);
    },
  );

  it('of a pull request can read the templates of this service and nothing else', () => {
    expect(statementsOf(delivery, roleOf('DiffRoleArn'))).toEqual([
      allow(
        ['cloudformation:GetTemplate'],
        joined(
          'arn:',
          ref('AWS::Partition'),
          ':cloudformation:',
          ref('AWS::Region'),
          ':',
          ref('AWS::AccountId'),
          ':stack/AnimalStore-*/*',
        ),
      ),
    ]);
  });

  it('has deploy roles only for the stages of the account', () => {
    const { Outputs } = synthesize('existing').get('AnimalStore-delivery')!;
    expect(Object.keys(Outputs).toSorted()).toEqual(['DeployRoleArnProd', 'DiffRoleArn']);
  });

  it('can use the OIDC provider that the account already has', () => {
    const stack = synthesize('existing').get('AnimalStore-delivery')!;
    expect(resourcesOf(stack, 'AWS::IAM::OIDCProvider')).toEqual([]);
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
      expect(resourcesOf(stackOf(`AnimalStore-${stage}`), 'AWS::ApiGateway::Account')).toEqual([]);
    }
    const [, settings] = theResource(account, 'AWS::ApiGateway::Account');
    const [roleId] = theResource(account, 'AWS::IAM::Role');
    expect(settings.Properties['CloudWatchRoleArn']).toEqual(arnOf(roleId));
    // With its policy: API Gateway checks the role's permissions when the account setting is updated.
    expect(settings.DependsOn).toContain(roleId);
  });

  it('can be assumed only by API Gateway', () => {
    const [roleId] = theResource(account, 'AWS::IAM::Role');
    const { Condition: _, ...withoutAccount } = assumedBy('apigateway.amazonaws.com');
    expect(trustOf(account, roleId)).toEqual([withoutAccount]);
  });

  it.each(['AnimalStore-staging', 'AnimalStore-prod', 'AnimalStore-delivery'])(
    'is deployed before %s',
    (name) => {
      expect(stackOf(name).dependencies).toEqual(['AnimalStore-account']);
    },
  );

  it('is not changed if accountSettings is existing', () => {
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

/** By a service of AWS that acts for this account. */
function assumedBy(service: string) {
  const Condition = { StringEquals: { 'aws:SourceAccount': ref('AWS::AccountId') } };
  return { Action: 'sts:AssumeRole', Effect: 'Allow', Principal: { Service: service }, Condition };
}

function allStatements(stack: Stack): Statement[] {
  return resourcesOf(stack, 'AWS::IAM::Policy').flatMap(
    ([, { Properties }]) => policy.parse(Properties).PolicyDocument.Statement,
  );
}

function inOrder(values: readonly unknown[]): readonly string[] {
  return values.map((value) => JSON.stringify(value)).toSorted((a, b) => a.localeCompare(b));
}
