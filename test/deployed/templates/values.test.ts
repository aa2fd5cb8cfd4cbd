import { describe, expect, it } from 'vitest';
import { planNames } from '../../../functions/access/plans.ts';
import { operations } from '../../../functions/operations.ts';
import { tableVariables } from '../../../functions/tables.ts';
import { usagePlanSettings } from '../../../lib/api/usage-plan-settings.ts';
import { presets } from '../../../lib/configuration/stages.ts';
import { tableDefinitions } from '../../../lib/storage/table-definitions.ts';
import { titleCase } from '../../../lib/title-case.ts';
import { arnOf, functionsOf, idOf, ref, resourcesOf, type Stack, stackOf, theResource } from './synthesis.ts';

/** Values that operators and clients rely on. A wrong one deploys, and no other test would tell. */

const prod = stackOf('AnimalStore-prod');
const staging = stackOf('AnimalStore-staging');
const shelter = stackOf('Shelter-prod');

const propertiesOf = (stack: Stack, type: string) =>
  resourcesOf(stack, type).map(([, { Properties }]) => Properties);
const propertiesOfThe = (stack: Stack, type: string) => theResource(stack, type)[1].Properties;

describe('the API', () => {
  const aliasOf = (entry: string) => {
    const { id } = functionsOf(prod).get(entry)!;
    const found = resourcesOf(prod, 'AWS::Lambda::Alias').find(
      ([, { Properties }]) => idOf(Properties['FunctionName']) === id,
    );
    return found![0];
  };

  it('sends each operation to the alias of its function, so that canaries and roll backs count', () => {
    const methods = propertiesOf(prod, 'AWS::ApiGateway::Method');
    const integrations = methods.map((each) => JSON.stringify(each['Integration']));
    for (const { entry, method } of operations) {
      const alias = aliasOf(entry);
      const found = methods.filter((_, index) => integrations[index]!.includes(`"${alias}"`));
      expect(found).toMatchObject([
        { HttpMethod: method, Integration: { Type: 'AWS_PROXY', IntegrationHttpMethod: 'POST' } },
      ]);
    }
    const authorizer = propertiesOfThe(prod, 'AWS::ApiGateway::Authorizer');
    expect(authorizer).toMatchObject({ IdentitySource: 'method.request.header.Authorization' });
    expect(JSON.stringify(authorizer['AuthorizerUri'])).toContain(`"${aliasOf('authorizer')}"`);
  });

  it('alone may call the functions', () => {
    const [api] = theResource(prod, 'AWS::ApiGateway::RestApi');
    const permissions = propertiesOf(prod, 'AWS::Lambda::Permission');
    for (const each of permissions) {
      expect(each).toMatchObject({ Action: 'lambda:InvokeFunction', Principal: 'apigateway.amazonaws.com' });
      expect(JSON.stringify(each['SourceArn'])).toContain(`"${api}"`);
    }
  });

  it('has regional endpoints for both versions of IP, and the stage v1 with traces', () => {
    const endpoint = { IpAddressType: 'dualstack', Types: ['REGIONAL'] };
    for (const type of ['RestApi', 'DomainName'])
      expect(propertiesOfThe(shelter, `AWS::ApiGateway::${type}`)).toMatchObject({
        EndpointConfiguration: endpoint,
      });
    expect(propertiesOfThe(shelter, 'AWS::ApiGateway::BasePathMapping')).toMatchObject({ BasePath: 'v1' });
    expect(propertiesOfThe(prod, 'AWS::ApiGateway::Stage')).toMatchObject({
      StageName: 'v1',
      TracingEnabled: true,
    });
  });

  it('of staging leaves prod most of the requests of an account that they share', () => {
    const { requestsPerSecond, burst } = presets.staging.throttle!;
    const throttle = { ThrottlingRateLimit: requestsPerSecond, ThrottlingBurstLimit: burst };
    expect(propertiesOfThe(staging, 'AWS::ApiGateway::Stage')).toMatchObject({ MethodSettings: [throttle] });
    const ofProd = JSON.stringify(propertiesOfThe(prod, 'AWS::ApiGateway::Stage')['MethodSettings']);
    expect(ofProd).not.toContain('Throttling');
  });

  it.each(planNames)('has the usage plan %s, bound to its stage', (plan) => {
    const found = propertiesOf(prod, 'AWS::ApiGateway::UsagePlan').find(({ UsagePlanName: name }) =>
      String(name).endsWith(plan),
    );
    const { rateLimit, burstLimit, quota } = usagePlanSettings(plan, presets.prod.accountThrottle);
    const [api, stage] = ['RestApi', 'Stage'].map((type) => theResource(prod, `AWS::ApiGateway::${type}`)[0]);
    expect(found).toMatchObject({
      ApiStages: [{ ApiId: ref(api!), Stage: ref(stage!) }],
      Throttle: { RateLimit: rateLimit, BurstLimit: burstLimit },
      ...(quota !== undefined && { Quota: { Limit: quota, Period: 'DAY' } }),
    });
    expect(found).not.toHaveProperty(quota === undefined ? 'Quota' : 'none');
  });

  it('is behind a web ACL that counts the requests of an address in five minutes', () => {
    const [acl, { Properties }] = theResource(shelter, 'AWS::WAFv2::WebACL');
    const { Scope: scope, Rules: rules } = Properties as { Scope: string; Rules: { Statement: object }[] };
    expect(scope).toBe('REGIONAL');
    expect(rules.filter(({ Statement: each }) => 'RateBasedStatement' in each)).toMatchObject([
      { Statement: { RateBasedStatement: { AggregateKeyType: 'IP', EvaluationWindowSec: 300 } } },
    ]);
    const association = propertiesOfThe(shelter, 'AWS::WAFv2::WebACLAssociation');
    const [stage] = theResource(shelter, 'AWS::ApiGateway::Stage');
    expect(association).toMatchObject({ WebACLArn: arnOf(acl) });
    expect(JSON.stringify(association['ResourceArn'])).toContain(`"${stage}"`);
  });
});

describe('the functions', () => {
  it('run on arm64 with traces, and log JSON without the start and end of each invocation', () => {
    for (const each of propertiesOf(prod, 'AWS::Lambda::Function'))
      expect(each).toMatchObject({ Architectures: ['arm64'], LoggingConfig: { LogFormat: 'JSON' } });
    for (const { id } of functionsOf(prod).values())
      expect(prod.Resources[id]!.Properties).toMatchObject({
        TracingConfig: { Mode: 'Active' },
        LoggingConfig: { SystemLogLevel: 'WARN' },
      });
  });

  it('have the names of the tables that they read in the variables with these names', () => {
    for (const { Environment: environment } of functionsOf(prod).values())
      for (const [table, variable] of Object.entries(tableVariables)) {
        const value = environment.Variables[variable];
        if (value === undefined) continue;
        expect(value).toEqual(prod.Outputs[`${titleCase(table)}TableName`]?.Value ?? value);
        expect(idOf(value)).toMatch(new RegExp(`^Tables${titleCase(table)}[0-9A-F]{8}$`));
      }
  });

  it('have the reserved and provisioned concurrency of the settings', () => {
    const { id } = functionsOf(shelter).get('authorizer')!;
    expect(shelter.Resources[id]!.Properties).toMatchObject({ ReservedConcurrentExecutions: 20 });
    const provisioned = { ProvisionedConcurrencyConfig: { ProvisionedConcurrentExecutions: 3 } };
    const aliases = propertiesOf(shelter, 'AWS::Lambda::Alias');
    expect(aliases.filter((each) => each['ProvisionedConcurrencyConfig'] !== undefined)).toMatchObject([
      { FunctionName: ref(id), ...provisioned },
    ]);
  });

  it.each([
    [prod, presets.prod.logRetentionDays],
    [staging, presets.staging.logRetentionDays],
  ])('and the API keep their logs for some time: %#', (stack, days) => {
    for (const each of propertiesOf(stack, 'AWS::Logs::LogGroup'))
      expect(each).toMatchObject({ RetentionInDays: days });
  });
});

describe('the tables', () => {
  it.each(Object.entries(tableDefinitions))(
    'are paid by use, with whole items in indexes: %s',
    (name, of) => {
      const [, { Properties }] = resourcesOf(prod, 'AWS::DynamoDB::GlobalTable').find(([id]) =>
        id.startsWith(`Tables${titleCase(name)}`),
      )!;
      const { isTemporary = false, indexes = {} } = of;
      expect(Properties).toMatchObject({
        BillingMode: 'PAY_PER_REQUEST',
        ...(isTemporary && { TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true } }),
        ...(Object.keys(indexes).length > 0 && {
          GlobalSecondaryIndexes: Object.keys(indexes).map((index) => ({
            IndexName: index,
            Projection: { ProjectionType: 'ALL' },
          })),
        }),
      });
      // What is deleted within a day needs no backup.
      const backup = { PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } };
      const [replica] = Properties['Replicas'] as object[];
      if (isTemporary) expect(replica).not.toHaveProperty('PointInTimeRecoverySpecification');
      else expect(replica).toMatchObject(backup);
      if (!isTemporary) expect(Properties).not.toHaveProperty('TimeToLiveSpecification');
    },
  );
});

describe('what tells operators', () => {
  it('looks at five minutes, of which two are bad, unless it says why not', () => {
    const others = Object.fromEntries(
      propertiesOf(prod, 'AWS::CloudWatch::Alarm').flatMap((each) => {
        const { AlarmName: name, EvaluationPeriods: all, DatapointsToAlarm: bad } = each;
        const periods = [bad, all].join(' of ');
        return periods === '2 of 5' ? [] : [[String(name).replace('AnimalStore-prod-', ''), periods]];
      }),
    );
    expect(others).toEqual({
      'api-5xx-hour': '1 of 1',
      'api-5xx-8-hours': '1 of 1',
      'api-latency': '3 of 3',
      'malformed-items': '1 of 1',
    });
    const latency = propertiesOf(prod, 'AWS::CloudWatch::Alarm').find(({ AlarmName: name }) =>
      String(name).endsWith('api-latency'),
    );
    expect(latency).toMatchObject({ ExtendedStatistic: 'p99' });
  });

  it('counts known keys that get 401 from the access log', () => {
    expect(propertiesOfThe(prod, 'AWS::Logs::MetricFilter')).toMatchObject({
      FilterPattern: '{ ($.status = "401") && ($.keyId != "-") }',
      LogGroupName: { Ref: expect.stringMatching(/^ApiAccessLogs/) as string },
      MetricTransformations: [
        { MetricName: 'KnownKeysRejected', MetricNamespace: 'AnimalStore-prod', MetricValue: '1' },
      ],
    });
  });

  it('sends to the address of the settings, and nothing without TLS', () => {
    const [topic] = theResource(shelter, 'AWS::SNS::Topic');
    expect(propertiesOfThe(shelter, 'AWS::SNS::Subscription')).toMatchObject({
      Endpoint: 'on-call@example.com',
      Protocol: 'email',
      TopicArn: ref(topic),
    });
    expect(propertiesOfThe(prod, 'AWS::SNS::TopicPolicy')).toMatchObject({
      PolicyDocument: {
        Statement: expect.arrayContaining([
          expect.objectContaining({
            Effect: 'Deny',
            Principal: '*',
            Condition: { Bool: { 'aws:SecureTransport': 'false' } },
          }),
        ]) as unknown,
      },
    });
  });
});

it('GitHub is known by the address and the audience of its tokens', () => {
  expect(propertiesOfThe(stackOf('AnimalStore-delivery'), 'AWS::IAM::OIDCProvider')).toMatchObject({
    Url: 'https://token.actions.githubusercontent.com',
    ClientIdList: ['sts.amazonaws.com'],
  });
});
