import { readFileSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { expect, it } from 'vitest';
import * as z from 'zod';
import actionsOfTypes from './cloudformation-actions.json' with { type: 'json' };
import { contexts, resourcesOf, stackOf, stacksOf, synthesize } from './synthesis.ts';

/** docs/settings.md#limit-what-cloudformation-may-do attaches it to CloudFormation's role. */
const text = readFileSync('lib/delivery/cloudformation-policy.json', 'utf8');
const { Statement: statements } = JSON.parse(text) as {
  Statement: { Action: string | string[]; Resource: string | string[] }[];
};
const actions = statements.flatMap(({ Action }) => Action);
const list = z.union([z.string(), z.array(z.string())]).transform((value) => [value].flat());

/** The types of resources in all templates. The CDK's own type is data for its authors, and no resource. */
const types = new Set(
  Object.keys(contexts).flatMap((name) =>
    [...synthesize(name as keyof typeof contexts).values()].flatMap(({ Resources }) =>
      Object.values(Resources).map(({ Type }) => Type),
    ),
  ),
);

/**
 * The actions that CloudFormation takes for a resource of each type: cloudformation-actions.json has the permissions of the handlers in
 * its registry's schemas, of us-east-1 on 2026-08-07 (pulumi/pulumi-aws-native 43eed3b0, `aws-cloudformation-schema/`). Those of
 * GlobalTable include what AWS's page asks for:
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-globaltable.html
 */
const actionsOf: Readonly<Record<string, string>> = {
  ...actionsOfTypes,
  // They are older than the registry, so no schema says it.
  'AWS::Budgets::Budget': 'budgets:ModifyBudget budgets:ViewBudget',
  'AWS::Route53::RecordSet': 'route53:ChangeResourceRecordSets route53:GetChange route53:GetHostedZone',
};

/** What the schemas name, but the templates do not need. */
const unneeded: Readonly<Record<string, RegExp>> = {
  'a stream of Kinesis or Firehose': /^(kinesis|firehose):/,
  'a key of yours that encrypts a table': /^kms:(ListAliases|RevokeGrant)$/,
  'a key of yours that encrypts variables of functions': /^kms:(Encrypt|GenerateDataKey)$/,
  'a network or a file system of functions': /^(ec2|elasticfilesystem|s3files):/,
  'a policy of users or groups': /^iam:\w+(User|Group)Policy$/,
  'a list of all roles, which no deployment makes': /^iam:ListRoles$/,
  'a policy of the log group': /^s3:REST\.PUT\.OBJECT$/,
  'a web ACL of another service':
    /^(amplify|apprunner|appsync|bedrock-agentcore|cognito-idp|elasticloadbalancing):\w*Web(ACL|Acl)\w*$/,
};

const isPermitted = (action: string) =>
  actions.some((pattern) => matchesGlob(action.toLowerCase(), pattern.toLowerCase()));

it.each([...types].filter((type) => type !== 'AWS::CDK::Metadata'))(
  'permits every action that CloudFormation takes for a resource of the type %s',
  (type) => {
    const needed = actionsOf[type]?.split(' ') ?? [
      `what ${type} needs: add it to cloudformation-actions.json`,
    ];
    const missing = needed.filter((action) => !isPermitted(action));
    const reasons = Object.values(unneeded);
    expect(missing.filter((action) => !reasons.some((reason) => reason.test(action)))).toEqual([]);
  },
);

it.each(Object.entries(unneeded))('does not permit what only %s would need', (_, pattern) => {
  const named = Object.values(actionsOf).flatMap((each) => each.split(' '));
  const found = named.filter((action) => pattern.test(action));
  expect(found.length).toBeGreaterThan(0);
  expect(found.filter(isPermitted)).toEqual([]);
});

it('permits nothing of services that no template needs', () => {
  const needed = [...types].map((type) => type.split('::')[1]!.toLowerCase());
  // Certificates are read, AWS asks for the scaling and the keys of every global table, and the CDK keeps assets and its version.
  const others = ['acm', 'application-autoscaling', 'kms', 's3', 'ssm'];
  const services = new Set(actions.map((action) => action.split(':')[0]!));
  const known = new Set([...needed, ...others]);
  known.delete('cdk');
  expect([...services].toSorted()).toEqual([...known].toSorted());
});

it('does not permit everything, and fits a managed policy', () => {
  expect(actions).not.toContain('*');
  expect(actions.filter((action) => /^(iam|s3|ssm|sts|dynamodb):\*$/.test(action))).toEqual(['dynamodb:*']);
  // https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
  expect(text.replaceAll(/\s/g, '').length).toBeLessThanOrEqual(6_144);
});

it('permits changes by name where AWS has names, and of others only what docs/security.md says', () => {
  const wide = statements
    .filter(({ Resource }) => Resource === '*')
    .flatMap(({ Action }) => Action)
    .filter((action) => !/:(Describe|Get|List)/.test(action));
  expect(wide.toSorted()).toEqual([
    'apigateway:*',
    'application-autoscaling:DeleteScalingPolicy',
    'application-autoscaling:DeleteScheduledAction',
    'application-autoscaling:DeregisterScalableTarget',
    'application-autoscaling:PutScalingPolicy',
    'application-autoscaling:PutScheduledAction',
    'application-autoscaling:RegisterScalableTarget',
    'budgets:*',
    'cloudwatch:PutMetricData',
    'kms:CreateGrant',
    'kms:Decrypt',
    'logs:CreateLogDelivery',
    'logs:DeleteLogDelivery',
    'logs:DeleteQueryDefinition',
    'logs:PutQueryDefinition',
    'logs:PutResourcePolicy',
    'logs:UpdateLogDelivery',
    'route53:ChangeResourceRecordSets',
    'wafv2:*',
  ]);
});

it.each(['cloudformation-policy', 'permissions-boundary'])(
  'permits each action on resources of its service: %s',
  (name) => {
    const { Statement } = z
      .object({ Statement: z.array(z.object({ Action: list, Resource: list })) })
      .parse(JSON.parse(readFileSync(`lib/delivery/${name}.json`, 'utf8')));
    const without = Statement.filter(({ Resource }) => !Resource.includes('*')).flatMap(
      ({ Action, Resource }) => {
        const services = new Set(Resource.map((arn) => arn.split(':')[2]));
        return Action.filter((action) => !services.has(action.split(':')[0]!.replace('sts', 'iam')));
      },
    );
    expect(without).toEqual([]);
  },
);

it('gives roles to the services that assume them in the templates, and to no other', () => {
  const trusted = ['Shelter-prod', 'AnimalStore-account'].flatMap((name) =>
    resourcesOf(stackOf(name), 'AWS::IAM::Role').flatMap(({ 1: { Properties } }) =>
      Array.from(
        JSON.stringify(Properties['AssumeRolePolicyDocument']).matchAll(/"Service":"([^"]+)"/g),
        ([, service]) => service!,
      ),
    ),
  );
  const [, passed = '[]'] = /"iam:PassedToService": (\[[^\]]+\])/.exec(text) ?? [];
  expect(JSON.parse(passed)).toEqual([...new Set(trusted)].toSorted());
});

const boundaryName = 'AnimalStore-Boundary';

/** https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AmazonAPIGatewayPushToCloudWatchLogs.html, unchanged since 2015. */
const logsOfApiGateway = [
  'logs:CreateLogGroup',
  'logs:CreateLogStream',
  'logs:DescribeLogGroups',
  'logs:DescribeLogStreams',
  'logs:FilterLogEvents',
  'logs:GetLogEvents',
  'logs:PutLogEvents',
];

it('the boundary of the roles permits what the roles of all stacks do, and nothing else', () => {
  const policies = ['Shelter-prod', 'AnimalStore-delivery'].flatMap((name) =>
    resourcesOf(stackOf(name), 'AWS::IAM::Policy').map(([, { Properties }]) => Properties),
  );
  const document = z.object({
    Statement: z.array(z.object({ Action: z.union([z.string(), z.array(z.string())]) })),
  });
  const used = policies.flatMap(({ PolicyDocument }) =>
    document.parse(PolicyDocument).Statement.flatMap(({ Action }) => Action),
  );
  const boundary = document.parse(JSON.parse(readFileSync('lib/delivery/permissions-boundary.json', 'utf8')));
  const permitted = boundary.Statement.flatMap(({ Action }) => Action);
  expect([...new Set(permitted)].toSorted()).toEqual([...new Set([...used, ...logsOfApiGateway])].toSorted());
});

it.each([boundaryName, `team/operations/${boundaryName}`])(
  'the boundary is that of every role of every stack, if it is set: %s',
  (permissionsBoundary) => {
    const stages = { prod: { permissionsBoundary } };
    const stacks = stacksOf({ ...contexts.default, stage: 'prod', stages });
    expect([...stacks.keys()].toSorted()).toEqual([
      'AnimalStore-account',
      'AnimalStore-delivery',
      'AnimalStore-prod',
    ]);
    for (const stack of stacks.values())
      for (const [, { Properties }] of resourcesOf(stack, 'AWS::IAM::Role'))
        expect(JSON.stringify(Properties['PermissionsBoundary'])).toContain(
          `:policy/${permissionsBoundary}"`,
        );
  },
);

it('stages that share stacks have one boundary', () => {
  const both = (staging: object, prod: object) => () => stacksOf({ stages: { staging, prod } });
  const [one, two] = [{ permissionsBoundary: 'One' }, { permissionsBoundary: 'Two' }];
  expect(both(one, two)).toThrow('stages: staging and prod share stacks, so they must have the same');
  expect(both({}, two)).not.toThrow();
  const apart = both({ ...one, account: '111111111111' }, { ...two, account: '222222222222' });
  expect(apart).not.toThrow();
});

it('the policy of CloudFormation names the boundary that it requires', () => {
  const required = readFileSync('lib/delivery/boundary-required.json', 'utf8');
  expect(required).toContain(`"arn:*:iam::*:policy/${boundaryName}"`);
});
