import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { contexts, synthesize } from './synthesis.ts';

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
  // Certificates are read, the scaling of tables is looked up, and the CDK keeps assets and its version.
  const others = ['acm', 'application-autoscaling', 's3', 'ssm'];
  const services = new Set(actions.map((action) => action.split(':')[0]!));
  expect([...services].toSorted()).toEqual([...new Set([...types, ...others])].toSorted());
});

it('does not permit everything, and fits a managed policy', () => {
  expect(actions).not.toContain('*');
  expect(actions.filter((action) => /^(iam|s3|ssm|sts|dynamodb):\*$/.test(action))).toEqual(['dynamodb:*']);
  // https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
  expect(text.replaceAll(/\s/g, '').length).toBeLessThanOrEqual(6_144);
});
