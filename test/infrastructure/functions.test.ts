import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { timeToAnswer } from '../../functions/runtime/deadline.ts';
import { metrics } from '../../functions/http/metrics.ts';
import { toLogLine } from '../../functions/http/telemetry.ts';
import { stageSettings } from '../../lib/configuration/settings.ts';
import { functionEntries } from '../../lib/operations.ts';
import { functionsOf, hooksOf, idOf, resourcesOf, stackOf } from './synthesis.ts';

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
      // Two attempts without an answer, the longest delay between them, and part of a third.
      expect(operation).toBeGreaterThan(2 * request + 25);
      expect(milliseconds('DYNAMODB_CONNECTION_TIMEOUT_MS')).toBeLessThan(request);
    },
  );

  it('has the memory of docs/performance.md', () => {
    const stated = /^All functions have ([\d,]+) MB/m.exec(readFileSync('docs/performance.md', 'utf8'));
    expect(functionsOf(prod).get(entry)?.MemorySize).toBe(Number(stated?.[1]?.replace(',', '')));
  });

  // https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html
  it.each(['AnimalStore-prod', 'Shelter-prod'])(
    'keeps the lines with metrics at the log level of %s',
    (name) => {
      const { ApplicationLogLevel } = functionsOf(stackOf(name)).get(entry)!.LoggingConfig;
      expect(stageSettings.shape.logLevel.options).toContain(ApplicationLogLevel);
      const { level } = z.object({ level: z.string() }).parse(JSON.parse(lineWithMetrics));
      const severity = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'];
      expect(severity.indexOf(level)).toBeGreaterThanOrEqual(severity.indexOf(ApplicationLogLevel));
    },
  );
});

const lineWithMetrics = toLogLine(
  {
    requestId: '1',
    operation: 'listPets',
    status: 200,
    durationMs: 1,
    coldStart: false,
    keyId: undefined,
    plan: undefined,
    errors: [],
    counts: new Map([[metrics.admitted, 1]]),
  },
  'AnimalStore-prod',
  0,
);

describe('a new version', () => {
  const aliases = resourcesOf(prod, 'AWS::Lambda::Alias');
  const groups = new Map(resourcesOf(prod, 'AWS::CodeDeploy::DeploymentGroup'));

  it('gets a tenth of the requests first in prod, and goes back if an alarm goes off', () => {
    expect(aliases).toHaveLength(functionEntries.length);
    const update = z.object({
      CodeDeployLambdaAliasUpdate: z.object({ DeploymentGroupName: z.object({ Ref: z.string() }) }),
    });
    const used = aliases.map(([, { UpdatePolicy }]) => {
      const { DeploymentGroupName } = update.parse(UpdatePolicy).CodeDeployLambdaAliasUpdate;
      return DeploymentGroupName.Ref;
    });
    expect(new Set(used)).toEqual(new Set(groups.keys()));
    prod.template.allResourcesProperties('AWS::CodeDeploy::DeploymentGroup', {
      DeploymentConfigName: 'CodeDeployDefault.LambdaCanary10Percent5Minutes',
      AutoRollbackConfiguration: {
        Enabled: true,
        Events: ['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_REQUEST', 'DEPLOYMENT_STOP_ON_ALARM'],
      },
    });
  });

  it('is checked by a hook before, and the hook knows it', () => {
    const hooks = hooksOf(prod);
    expect([...hooks.keys()]).toEqual([...functionEntries]);
    const ids = new Set([...hooks.values()].map(({ id }) => id));
    const used = aliases.map(([, { UpdatePolicy, DependsOn }]) => {
      const update = UpdatePolicy?.['CodeDeployLambdaAliasUpdate'] as { BeforeAllowTrafficHook: unknown };
      const id = idOf(update.BeforeAllowTrafficHook);
      expect(DependsOn).toContain(id);
      return id;
    });
    expect(new Set(used)).toEqual(ids);
  });

  it('leaves the earlier ones for a roll back, and goes itself if its deployment fails', () => {
    const versions = resourcesOf(prod, 'AWS::Lambda::Version').filter(([id]) => id.startsWith('Functions'));
    expect(versions).toHaveLength(functionEntries.length);
    for (const [, { DeletionPolicy, UpdateReplacePolicy }] of versions) {
      expect({ DeletionPolicy, UpdateReplacePolicy }).toEqual({
        DeletionPolicy: 'RetainExceptOnCreate',
        UpdateReplacePolicy: 'Retain',
      });
    }
  });

  it('is watched by alarms of its own function and of the API', () => {
    const alarmName = (id: string): unknown => prod.Resources[id]?.Properties['AlarmName'];
    const configuration = z.object({ Alarms: z.array(z.object({ Name: z.object({ Ref: z.string() }) })) });
    const watched = [...groups.values()].map(({ Properties }) =>
      configuration.parse(Properties['AlarmConfiguration']).Alarms.map(({ Name }) => alarmName(Name.Ref)),
    );
    expect(watched).toEqual(
      functionEntries.map((entry) =>
        ['api-5xx', `${entry}-errors`, 'known-keys-rejected', 'limiter-fail-open', 'malformed-items'].map(
          (name) => `AnimalStore-prod-${name}`,
        ),
      ),
    );
  });

  it('is deployed after CodeDeploy has its permissions', () => {
    const policies = new Set(resourcesOf(prod, 'AWS::IAM::Policy').map(([id]) => id));
    for (const { DependsOn } of groups.values()) {
      expect(DependsOn.filter((id) => policies.has(id))).toHaveLength(1);
    }
  });
});
