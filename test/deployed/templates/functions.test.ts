import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { timeLimits } from '../../../functions/delivery/check-versions.ts';
import { timeToAnswer } from '../../../functions/runtime/deadline.ts';
import { functionEntries } from '../../../functions/operations.ts';
import { bundles } from './built-functions.ts';
import {
  functionsOf,
  hookOf,
  idOf,
  ref,
  resourcesOf,
  type Stack,
  stackOf,
  stacksOf,
  synthesize,
  theResource,
} from './synthesis.ts';

const prod = stackOf('AnimalStore-prod');

describe.each(functionEntries)('the function %s', (entry) => {
  it.each(['AnimalStore-prod', 'AnimalStore-staging', 'AnimalStore-local'])(
    'ends its calls before its time in %s',
    (name) => {
      const { Timeout, Environment } = functionsOf(stackOf(name)).get(entry)!;
      const milliseconds = (variable: string): number => Number(Environment.Variables[variable] ?? 0);
      const request = milliseconds('DYNAMODB_REQUEST_TIMEOUT_MS');
      const operation = Timeout * 1_000 - milliseconds('LIMITER_TIMEOUT_MS') - timeToAnswer;
      // docs/decisions.md promises an answer within three seconds.
      expect(Timeout).toBeLessThanOrEqual(3);
      // There is time for two attempts without an answer, the longest delay between them, and part of a third.
      expect(operation).toBeGreaterThan(2 * request + 25);
      expect(milliseconds('DYNAMODB_CONNECTION_TIMEOUT_MS')).toBeLessThan(request);
    },
  );
});

it.each(functionEntries)('the function %s starts with the variables that the stack sets', async (entry) => {
  const { Variables } = functionsOf(prod).get(entry)!.Environment;
  const ofLambda = { AWS_REGION: 'eu-central-1', AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' };
  const ofStack = Object.entries(Variables).map(([name, value]) => [name, String(value)]);
  const env = { ...ofLambda, ...(Object.fromEntries(ofStack) as Record<string, string>) };
  const { directory } = bundles.find((each) => each.entry === entry)!;
  const module = pathToFileURL(join(directory, `${entry}.mjs`)).href;
  const script = `const { handler } = await import('${module}'); console.log(typeof handler)`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    env,
  });
  expect(stdout).toBe('function\n');
});

const update = z
  .object({
    CodeDeployLambdaAliasUpdate: z.object({
      DeploymentGroupName: z.unknown(),
      BeforeAllowTrafficHook: z.unknown(),
    }),
  })
  .transform(({ CodeDeployLambdaAliasUpdate }) => CodeDeployLambdaAliasUpdate);

describe('a new version', () => {
  const staging = stackOf('AnimalStore-staging');
  const overrides = { prod: { deployment: 'all-at-once' } };
  const urgent: Stack = stacksOf({ stage: 'prod', overrides }).get('AnimalStore-prod')!;
  const aliases = resourcesOf(prod, 'AWS::Lambda::Alias');
  const groups = new Map(resourcesOf(prod, 'AWS::CodeDeploy::DeploymentGroup'));

  it('gets a tenth of the requests first in prod, and goes back if an alarm goes off', () => {
    expect(aliases).toHaveLength(functionEntries.length);
    const used = aliases.map(([, { UpdatePolicy }]) => idOf(update.parse(UpdatePolicy).DeploymentGroupName));
    expect(new Set(used)).toEqual(new Set(groups.keys()));
    prod.template.allResourcesProperties('AWS::CodeDeploy::DeploymentGroup', {
      DeploymentConfigName: 'CodeDeployDefault.LambdaCanary10Percent5Minutes',
      AutoRollbackConfiguration: {
        Enabled: true,
        Events: ['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_REQUEST', 'DEPLOYMENT_STOP_ON_ALARM'],
      },
    });
  });

  it('is checked by a hook that always has the time to report', () => {
    const { checks, patience, report } = timeLimits;
    // The last attempt to report can begin when the patience ends.
    expect(hookOf(prod).Timeout * 1_000).toBeGreaterThan(checks + patience + report);
    expect(checks).toBeGreaterThan(patience);
  });

  it.each([prod, staging, urgent])('is checked by a hook before, and the hook knows it: %#', (stack) => {
    const { id: hook, Variables } = hookOf(stack);
    const all = resourcesOf(stack, 'AWS::Lambda::Alias');
    expect(all).toHaveLength(functionEntries.length);
    for (const [, { UpdatePolicy, DependsOn, Properties }] of all) {
      const { BeforeAllowTrafficHook, DeploymentGroupName } = update.parse(UpdatePolicy);
      expect(idOf(BeforeAllowTrafficHook)).toBe(hook);
      // Both are up to date when the alias changes.
      expect(DependsOn).toEqual(expect.arrayContaining([hook, idOf(DeploymentGroupName)]));
      const version = z.object({ 'Fn::GetAtt': z.array(z.string()) }).parse(Properties['FunctionVersion']);
      expect(JSON.stringify(Variables['CHECKED_VERSIONS'])).toContain(
        JSON.stringify(ref(version['Fn::GetAtt'][0]!)),
      );
    }
  });

  it('is watched by the same alarms as all others, so that all go back together', () => {
    const alarmName = (id: string): unknown => prod.Resources[id]?.Properties['AlarmName'];
    const configuration = z.object({ Alarms: z.array(z.object({ Name: z.object({ Ref: z.string() }) })) });
    const names = [
      'api-5xx',
      'api-slow',
      'function-errors',
      'known-keys-rejected',
      'limiter-fail-open',
      'newly-malformed-items',
    ];
    for (const { Properties } of groups.values()) {
      const { Alarms } = configuration.parse(Properties['AlarmConfiguration']);
      const watched = Alarms.map(({ Name }) => alarmName(Name.Ref));
      expect(new Set(watched)).toEqual(new Set(names.map((name) => `AnimalStore-prod-${name}`)));
    }
  });

  it('can leave out the waiting and the alarms, without a change of which resources exist', () => {
    expect(Object.keys(urgent.Resources)).toEqual(Object.keys(prod.Resources));
    urgent.template.allResourcesProperties('AWS::CodeDeploy::DeploymentGroup', {
      DeploymentConfigName: 'CodeDeployDefault.LambdaAllAtOnce',
      AlarmConfiguration: Match.objectLike({ Enabled: false }),
      AutoRollbackConfiguration: {
        Enabled: true,
        Events: ['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_REQUEST'],
      },
    });
  });

  it.each([
    ['another share', stackOf('Shelter-prod'), { CanaryInterval: 5, CanaryPercentage: 20 }],
    [
      'the share for another time',
      synthesize('accounts').get('AnimalStore-prod')!,
      { CanaryInterval: 10, CanaryPercentage: 10 },
    ],
  ])('gets %s, if that is set', (_, stack, canary) => {
    const [id, { Properties }] = theResource(stack, 'AWS::CodeDeploy::DeploymentConfig');
    expect(Properties['TrafficRoutingConfig']).toEqual({ Type: 'TimeBasedCanary', TimeBasedCanary: canary });
    stack.template.allResourcesProperties('AWS::CodeDeploy::DeploymentGroup', {
      DeploymentConfigName: ref(id),
    });
  });

  it('is deployed after CodeDeploy has its permissions', () => {
    const policies = new Set(resourcesOf(prod, 'AWS::IAM::Policy').map(([id]) => id));
    for (const { DependsOn } of groups.values()) {
      expect(DependsOn.filter((id) => policies.has(id))).toHaveLength(1);
    }
  });
});
