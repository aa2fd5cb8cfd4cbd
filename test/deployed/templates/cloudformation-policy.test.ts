import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { contexts, resourcesOf, stackOf, stacksOf, synthesize } from './synthesis.ts';

/** docs/deploy.md#limit-what-cloudformation-may-do attaches it to CloudFormation's role. */
const text = readFileSync('lib/delivery/cloudformation-policy.json', 'utf8');
const { Statement: statements } = JSON.parse(text) as {
  Statement: { Action: string | string[]; Resource: string | string[] }[];
};
const actions = statements.flatMap(({ Action }) => Action);

it('permits something of every service that a template needs, and nothing of others', () => {
  const types = Object.keys(contexts).flatMap((name) =>
    [...synthesize(name as keyof typeof contexts).values()].flatMap(({ Resources }) =>
      Object.values(Resources).map(({ Type }) => Type.split('::')[1]!.toLowerCase()),
    ),
  );
  // Certificates are read, the scaling of tables is looked up, and the CDK keeps assets, perhaps with a key, and its version.
  const others = ['acm', 'application-autoscaling', 'kms', 's3', 'ssm'];
  const services = new Set(actions.map((action) => action.split(':')[0]!));
  expect([...services].toSorted()).toEqual([...new Set([...types, ...others])].toSorted());
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
    'budgets:*',
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

const boundaryName = 'AnimalStore-Boundary';

it('the boundary of the roles permits what the roles of a stage do, and nothing else', () => {
  const policies = resourcesOf(stackOf('Shelter-prod'), 'AWS::IAM::Policy').map(
    ([, { Properties }]) => Properties,
  );
  const document = z.object({
    Statement: z.array(z.object({ Action: z.union([z.string(), z.array(z.string())]) })),
  });
  const used = policies.flatMap(({ PolicyDocument }) =>
    document.parse(PolicyDocument).Statement.flatMap(({ Action }) => Action),
  );
  const boundary = document.parse(JSON.parse(readFileSync('lib/delivery/permissions-boundary.json', 'utf8')));
  const permitted = boundary.Statement.flatMap(({ Action }) => Action);
  expect(permitted.toSorted()).toEqual([...new Set(used)].toSorted());
});

it('the boundary is that of every role of the stage, if it is set', () => {
  const stages = { prod: { permissionsBoundary: boundaryName } };
  const roles = resourcesOf(stacksOf({ stage: 'prod', stages }).get('AnimalStore-prod')!, 'AWS::IAM::Role');
  expect(roles.length).toBeGreaterThan(5);
  for (const [, { Properties }] of roles)
    expect(JSON.stringify(Properties['PermissionsBoundary'])).toContain(`:policy/${boundaryName}"`);
  const required = readFileSync('lib/delivery/boundary-required.json', 'utf8');
  expect(required).toContain(`"arn:*:iam::*:policy/${boundaryName}"`);
});
