import { readFileSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { permissionsOfTools } from '../../../tools/contributors/openapi/permissions.ts';
import { onCallPolicy } from '../../../tools/operators/deploy/on-call-policy.ts';
import { idOf, resourcesOf, stackOf } from './synthesis.ts';

/** A stack whose long name CloudFormation has cut in the names that it made, in another partition. */
const { Resources } = stackOf('AnimalStore-prod');
const stackName = 'TheShelterOfAllAnimalsOfTheNorth-prod';
const { Statement: statements } = onCallPolicy(
  {
    arn: `arn:aws-cn:cloudformation:cn-north-1:111111111111:stack/${stackName}/1`,
    resources: Object.entries(Resources).map(([logicalId, { Type: type }]) => ({
      logicalId,
      type,
      physicalId: `TheShelterOfAllAnima-${logicalId}-1A`,
    })),
  },
  stackName,
  'shelter',
);
const actions = statements.flatMap(({ Action }) => Action);
const isPermitted = (action: string) => actions.some((pattern) => matchesGlob(action, pattern));

/** What the pages ask of the engineer on call: a page, and its headings that belong to an alarm, a flood or a failed deployment. */
const asked: Readonly<Record<string, readonly string[]>> = {
  'docs/runbook.md': ['First look', 'Alarms', 'Flood'],
  'docs/operate.md': [
    'Watch a canary',
    'My deployment did not work',
    'Reset an alias',
    'Stop a canary',
    'Which version is live?',
  ],
};
const services: Readonly<Record<string, string>> = { deploy: 'codedeploy' };

/** The actions of the commands of the AWS CLI in a section, with those below it. */
function actionsIn(page: string, heading: string): string[] {
  const text = readFileSync(page, 'utf8');
  const [, level = '', section = ''] =
    new RegExp(String.raw`^(#+) ${heading.replace('?', String.raw`\?`)}\n([^]*)`, 'm').exec(text) ?? [];
  if (level === '') throw new Error(`${page} has no section "${heading}".`);
  const [own = ''] = section.split(new RegExp(`^#{1,${level.length}} `, 'm'));
  return Array.from(own.matchAll(/\baws ([a-z0-9]+) ([a-z][a-z-]+)/g), ([, service = '', command = '']) => {
    const name = command.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
    return `${services[service] ?? service}:${name}`;
  });
}

const commands = Object.entries(asked).flatMap(([page, headings]) =>
  headings.flatMap((heading) => actionsIn(page, heading)),
);

it.each([...new Set(commands)])('the engineer on call may do what the pages say: %s', (action) => {
  expect(isPermitted(action)).toBe(true);
});

it('the pages say what the test reads', () => {
  expect(commands).toContain('acm:DescribeCertificate');
  expect(commands).toContain('codedeploy:StopDeployment');
  expect(commands.length).toBeGreaterThan(10);
});

it.each([
  ['saved queries', ['logs:DescribeQueryDefinitions', 'logs:StartQuery', 'logs:GetQueryResults']],
  ['log groups', ['logs:DescribeLogGroups', 'logs:DescribeLogStreams', 'logs:GetLogEvents']],
  ['dashboards', ['cloudwatch:ListDashboards', 'cloudwatch:GetDashboard', 'cloudwatch:GetMetricData']],
  ['traces', ['xray:GetTraceSummaries', 'xray:BatchGetTraces', 'xray:GetServiceGraph']],
  ['the bill', ['ce:GetCostAndUsage', 'ce:GetTags', 'budgets:ViewBudget']],
  ['quotas', ['servicequotas:ListServiceQuotas', 'servicequotas:GetServiceQuota']],
])('the engineer on call may look at %s', (_, needed) => {
  expect(needed.filter((action) => !isPermitted(action))).toEqual([]);
});

it('the engineer on call may do all with keys, but not issue, replace or repair them', () => {
  const needed = permissionsOfTools()
    .rows.filter(([tool]) => tool === 'keys')
    .map(([, action = '']) => action.replaceAll('`', ''));
  expect(needed).toContain('dynamodb:UpdateItem');
  expect(needed.filter((action) => !isPermitted(action))).toEqual(['apigateway:POST']);
});

it('the engineer on call may roll back, with all that the pipeline has for it', () => {
  const delivery = stackOf('AnimalStore-delivery');
  const role = idOf(delivery.Outputs['DeployRoleArnProd']?.Value);
  const statement = z.object({ Action: z.union([z.string(), z.array(z.string())]) });
  const policy = z.object({
    Roles: z.array(z.unknown()),
    PolicyDocument: z.object({ Statement: z.array(statement) }),
  });
  const needed = resourcesOf(delivery, 'AWS::IAM::Policy')
    .map(([, { Properties }]) => policy.parse(Properties))
    .filter(({ Roles }) => JSON.stringify(Roles).includes(role))
    .flatMap(({ PolicyDocument }) => PolicyDocument.Statement.flatMap(({ Action }) => Action));
  expect(needed).toContain('sts:AssumeRole');
  expect(needed.filter((action) => !isPermitted(action))).toEqual([]);
  const of = statements.find(({ Action }) => Action.includes('sts:AssumeRole'));
  expect(of?.Resource).toContain(
    'arn:aws-cn:iam::111111111111:role/cdk-shelter-deploy-role-111111111111-cn-north-1',
  );
});

it('the engineer on call may change only what belongs to the stack, by the names that CloudFormation made', () => {
  const changes = statements.filter(
    ({ Action, Resource }) =>
      !Resource.includes('*') && !Action.every((each) => /:(Describe|Get)/.test(each)),
  );
  expect(changes.length).toBeGreaterThan(3);
  for (const { Action, Resource } of changes) {
    expect([Action, Resource.length > 0]).toEqual([Action, true]);
    for (const each of Resource)
      expect(each).toMatch(
        /^arn:aws-cn:[a-z0-9]+:(cn-north-1:|:)(111111111111)?:.*(TheShelterOfAllAnima-|\/apikeys\/\*$|cdk-shelter-|\/account$)/,
      );
  }
  const wide = statements.filter(({ Resource }) => Resource.includes('*')).flatMap(({ Action }) => Action);
  const read = /:(BatchGet|Describe|Filter|Get|List|View|St(art|op)Query)/;
  expect(wide.filter((action) => !read.test(action))).toEqual([]);
});

it.each([
  ['lambda:UpdateAlias', /^arn:aws-cn:lambda:.*FunctionsListPetsFunction[^:]*:live$/],
  ['lambda:GetAlias', /^arn:aws-cn:lambda:.*FunctionsListPetsFunction[^:]*$/],
  ['dynamodb:Query', /:table\/.*TablesApiKeys.*\/index\/\*$/],
  ['dynamodb:PutItem', /:table\/.*TablesApiKeys[^/]*$/],
  ['dynamodb:UpdateItem', /:table\/.*TablesRateLimits[^/]*$/],
  ['codedeploy:StopDeployment', /:deploymentgroup:.*\/\*$/],
  ['apigateway:DELETE', /\/restapis\/.*\/stages\/\*\/cache\/authorizers$/],
])('the engineer on call may do %s where it is needed', (action, resource) => {
  const of = statements.filter(({ Action }) => Action.includes(action)).flatMap(({ Resource }) => Resource);
  expect(of).toContainEqual(expect.stringMatching(resource));
});

it('the policy fits into a managed policy', () => {
  // https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
  expect(JSON.stringify(statements).length).toBeLessThanOrEqual(6_144 - 60);
});
