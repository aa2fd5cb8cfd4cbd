import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { metrics } from '../../functions/http/metrics.ts';
import { toLogLine } from '../../functions/http/telemetry.ts';
import { stageSettings } from '../../lib/configuration/settings.ts';
import { timeToAnswer } from '../../functions/deadline.ts';
import { idOf, ref, resourcesOf, synthesize, type Template, theResource } from './synthesis.ts';

const prod = synthesize().stack('AnimalStore-prod');
const staging = synthesize().stack('AnimalStore-staging');
const local = synthesize('local').stack('AnimalStore-local');
const stages = [
  ['prod', prod],
  ['staging', staging],
  ['local', local],
] as const;

const entries = ['authorizer', 'create-pet', 'get-pet', 'list-pets', 'unmatched-route'];

const lambdaSchema = z.object({
  Handler: z.string(),
  Runtime: z.string(),
  Architectures: z.array(z.string()),
  Timeout: z.int(),
  MemorySize: z.int(),
  ReservedConcurrentExecutions: z.int().optional(),
  TracingConfig: z.object({ Mode: z.string() }),
  LoggingConfig: z.object({
    LogFormat: z.string(),
    ApplicationLogLevel: z.string(),
    SystemLogLevel: z.string(),
    LogGroup: z.unknown(),
  }),
  Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }),
});

const deploymentGroup = z.object({
  DeploymentConfigName: z.string(),
  AlarmConfiguration: z.object({
    Enabled: z.literal(true),
    Alarms: z.array(z.object({ Name: z.object({ Ref: z.string() }) })),
  }),
  AutoRollbackConfiguration: z.object({ Enabled: z.literal(true), Events: z.array(z.string()) }),
});
const aliasUpdate = z.object({
  CodeDeployLambdaAliasUpdate: z.object({ DeploymentGroupName: z.object({ Ref: z.string() }) }),
});

describe.each(stages)('the functions of %s', (stage, stack) => {
  const timeouts = {
    DYNAMODB_CONNECTION_TIMEOUT_MS: '500',
    DYNAMODB_REQUEST_TIMEOUT_MS: '750',
  };
  const common = {
    STAGE: stage,
    RATE_LIMITS_TABLE: stack.Outputs['RateLimitsTableName']?.Value,
    ...timeouts,
    LIMITER_TIMEOUT_MS: '1000',
    METRICS_NAMESPACE: `AnimalStore-${stage}`,
  };
  const idempotency = { IDEMPOTENCY_TABLE: stack.Outputs['IdempotencyTableName']?.Value };
  const pets = { PETS_TABLE: stack.Outputs['PetsTableName']?.Value };

  it.each([
    ['list-pets', { ...common, ...pets }],
    ['create-pet', { ...common, ...pets, ...idempotency }],
    ['get-pet', { ...common, ...pets }],
    ['unmatched-route', { ...common, ALLOWED_METHODS: expect.any(String) as unknown }],
    [
      'authorizer',
      {
        STAGE: stage,
        ...timeouts,
        API_KEYS_TABLE: stack.Outputs['ApiKeysTableName']?.Value,
        AUTHORIZER_CACHE_SECONDS: '60',
      },
    ],
  ])('have only the environment variables that they need: %s', (entry, variables) => {
    expect(functionOf(stack, entry).Environment.Variables).toEqual(variables);
  });

  it.each(entries)('run on Node.js 24 and arm64, with traces and a JSON log group each: %s', (entry) => {
    const { LoggingConfig, ...properties } = functionOf(stack, entry);
    expect(properties).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      TracingConfig: { Mode: 'Active' },
    });
    // Lambda's own INFO lines cost money and contain nothing new.
    expect(LoggingConfig).toMatchObject({
      LogFormat: 'JSON',
      ApplicationLogLevel: 'INFO',
      SystemLogLevel: 'WARN',
    });
    expect(stack.Resources[idOf(LoggingConfig.LogGroup)]?.Type).toBe('AWS::Logs::LogGroup');
  });

  it.each(entries)('answer within 3 seconds if DynamoDB does not answer: %s', (entry) => {
    const { Timeout, Environment } = functionOf(stack, entry);
    const milliseconds = (name: string): number => Number(Environment.Variables[name] ?? 0);
    const [limiter, request] = [
      milliseconds('LIMITER_TIMEOUT_MS'),
      milliseconds('DYNAMODB_REQUEST_TIMEOUT_MS'),
    ];
    const operation = Timeout * 1_000 - limiter - timeToAnswer;
    expect({ Timeout, limiter, request }).toEqual(
      entry === 'authorizer'
        ? { Timeout: 2, limiter: 0, request: 750 }
        : { Timeout: 3, limiter: 1_000, request: 750 },
    );
    // Two attempts without an answer, the longest delay between them, and part of a third.
    expect(operation).toBeGreaterThan(2 * request + 25);
    expect(milliseconds('DYNAMODB_CONNECTION_TIMEOUT_MS')).toBeLessThan(request);
    expect(request).toBeLessThan(Timeout * 1_000);
  });

  it.each(entries)('have the memory size of docs/performance.md: %s', (entry) => {
    const recommended = /^All functions have ([\d,]+) MB/m.exec(readFileSync('docs/performance.md', 'utf8'));
    expect(functionOf(stack, entry).MemorySize).toBe(Number(recommended?.[1]?.replace(',', '')));
  });
});

describe('the logs', () => {
  it.each([
    ['prod', prod, 'Retain'],
    ['staging', staging, 'Delete'],
  ])('of %s are deleted with the stack only in staging', (_, stack, policy) => {
    for (const [, group] of resourcesOf(stack, 'AWS::Logs::LogGroup')) {
      expect(group.DeletionPolicy).toBe(policy);
    }
  });
});

describe('a new version', () => {
  it.each(entries)(
    'gets a tenth of the requests first in prod, and is rolled back on an alarm: %s',
    (entry) => {
      const group = deploymentGroupOf(prod, entry);
      expect(group.DeploymentConfigName).toBe('CodeDeployDefault.LambdaCanary10Percent5Minutes');
      expect(group.AutoRollbackConfiguration.Events.toSorted()).toEqual([
        'DEPLOYMENT_FAILURE',
        'DEPLOYMENT_STOP_ON_ALARM',
        'DEPLOYMENT_STOP_ON_REQUEST',
      ]);
      const alarms = group.AlarmConfiguration.Alarms.map(
        ({ Name }) => prod.Resources[Name.Ref]?.Properties['AlarmName'],
      );
      // CodeDeploy accepts at most ten.
      expect(alarms).toEqual([
        'AnimalStore-prod-api-5xx',
        `AnimalStore-prod-${entry}-errors`,
        'AnimalStore-prod-limiter-fail-open',
        'AnimalStore-prod-malformed-items',
      ]);
    },
  );

  it.each([
    ['staging', staging],
    ['local', local],
  ])('gets all requests at once in %s', (_, stack) => {
    expect(resourcesOf(stack, 'AWS::CodeDeploy::DeploymentGroup')).toEqual([]);
    for (const [, { UpdatePolicy }] of resourcesOf(stack, 'AWS::Lambda::Alias')) {
      expect(UpdatePolicy).toBeUndefined();
    }
  });

  it('is deployed after CodeDeploy has its permissions', () => {
    const policies = new Set(resourcesOf(prod, 'AWS::IAM::Policy').map(([id]) => id));
    for (const [, { DependsOn }] of resourcesOf(prod, 'AWS::CodeDeploy::DeploymentGroup')) {
      expect(DependsOn.filter((id) => policies.has(id)).length).toBe(1);
    }
  });
});

describe('a stage', () => {
  const stack = synthesize('copy').stack('Shelter-prod');

  it('can set the memory and concurrency of one function', () => {
    expect(functionOf(stack, 'authorizer')).toMatchObject({
      MemorySize: 512,
      ReservedConcurrentExecutions: 20,
    });
    expect(aliasOf(stack, 'authorizer').Properties['ProvisionedConcurrencyConfig']).toEqual({
      ProvisionedConcurrentExecutions: 3,
    });
  });

  it('keeps the settings of the other functions', () => {
    const { MemorySize, ReservedConcurrentExecutions } = functionOf(stack, 'list-pets');
    expect(MemorySize).toBe(functionOf(prod, 'list-pets').MemorySize);
    expect(ReservedConcurrentExecutions).toBeUndefined();
    expect(aliasOf(stack, 'list-pets').Properties['ProvisionedConcurrencyConfig']).toBeUndefined();
  });
});

function functionOf(stack: Template, entry: string) {
  const [, { Properties }] = theResource(stack, 'AWS::Lambda::Function', { Handler: `${entry}.handler` });
  return lambdaSchema.parse(Properties);
}

function aliasOf(stack: Template, entry: string) {
  const [functionId] = theResource(stack, 'AWS::Lambda::Function', { Handler: `${entry}.handler` });
  return theResource(stack, 'AWS::Lambda::Alias', { FunctionName: ref(functionId) })[1];
}

function deploymentGroupOf(stack: Template, entry: string) {
  const { DeploymentGroupName } = aliasUpdate.parse(
    aliasOf(stack, entry).UpdatePolicy,
  ).CodeDeployLambdaAliasUpdate;
  const group = stack.Resources[DeploymentGroupName.Ref];
  return deploymentGroup.parse(group?.Properties);
}

describe('a log level', () => {
  const severity = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'];
  const metricsLine = toLogLine(
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

  // https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html
  it.each(stageSettings.shape.logLevel.options)(
    'that is permitted keeps the lines with metrics: %s',
    (logLevel) => {
      const { level, _aws } = z
        .object({ level: z.string(), _aws: z.object() })
        .parse(JSON.parse(metricsLine));
      expect(_aws).toBeDefined();
      const stack = logLevel === 'INFO' ? prod : synthesize('copy').stack('Shelter-prod');
      for (const entry of entries) {
        const { ApplicationLogLevel } = functionOf(stack, entry).LoggingConfig;
        expect(ApplicationLogLevel).toBe(logLevel);
        expect(severity.indexOf(level)).toBeGreaterThanOrEqual(severity.indexOf(ApplicationLogLevel));
      }
    },
  );
});
