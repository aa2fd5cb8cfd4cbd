import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { keyOfHeader, newKey } from '../../functions/access/keys.ts';
import { errorCatalogue } from '../../functions/http/errors.ts';
import {
  arnOf,
  certificateArn,
  idOf,
  joined,
  ref,
  resourcesOf,
  Synthesis,
  synthesize,
  theResource,
} from './synthesis.ts';

const synthesis = synthesize();
const prod = synthesis.stack('AnimalStore-prod');
const staging = synthesis.stack('AnimalStore-staging');
const local = synthesize('local').stack('AnimalStore-local');
const copy = synthesize('copy');
const [apiId, { Properties: api }] = theResource(prod, 'AWS::ApiGateway::RestApi');
const [authorizerId, { Properties: authorizer }] = theResource(prod, 'AWS::ApiGateway::Authorizer');
const [stageId, { Properties: stage }] = theResource(prod, 'AWS::ApiGateway::Stage');

const lambdaSchema = z.object({
  Handler: z.string(),
  Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }),
});
const methodSchema = z.object({
  HttpMethod: z.string(),
  ResourceId: z.unknown(),
  AuthorizationType: z.string(),
  AuthorizerId: z.unknown(),
  ApiKeyRequired: z.boolean(),
  Integration: z.object({ Type: z.string(), Uri: z.unknown() }),
});
const resourceSchema = z.object({ ParentId: z.unknown(), PathPart: z.string() });
const settingsSchema = z.tuple([z.record(z.string(), z.unknown())]);

/** The function that an integration URI invokes. @throws Error if it is not invoked through its live alias */
const entryOfAlias = new Map(
  resourcesOf(prod, 'AWS::Lambda::Alias').map(([id, { Properties }]) => {
    if (Properties['Name'] !== 'live') throw new Error(`${id} must be a live alias`);
    const { Handler } = lambdaSchema.parse(prod.Resources[idOf(Properties['FunctionName'])]?.Properties);
    return [id, Handler.replace(/\.handler$/, '')] as const;
  }),
);
const called = (uri: unknown): string | undefined =>
  [...entryOfAlias].find(([id]) => JSON.stringify(uri).includes(JSON.stringify(ref(id))))?.[1];

const methods = resourcesOf(prod, 'AWS::ApiGateway::Method').map(([, { Properties }]) =>
  methodSchema.parse(Properties),
);

describe('the routes', () => {
  it('are the operations of the interface, and a function for all other paths and methods', () => {
    const routes = methods.map(
      ({ HttpMethod, ResourceId, Integration }) =>
        `${HttpMethod} ${pathOf(ResourceId)} ${Integration.Type} ${called(Integration.Uri)}`,
    );
    expect(routes.toSorted()).toEqual(
      [
        'GET /pets AWS_PROXY list-pets',
        'POST /pets AWS_PROXY create-pet',
        'GET /pets/{petId} AWS_PROXY get-pet',
        'ANY / AWS_PROXY unmatched-route',
        'ANY /pets AWS_PROXY unmatched-route',
        'ANY /pets/{petId} AWS_PROXY unmatched-route',
        'ANY /{proxy+} AWS_PROXY unmatched-route',
      ].toSorted(),
    );
  });

  it('all require the authorizer and an API key of API Gateway', () => {
    for (const { AuthorizationType, AuthorizerId, ApiKeyRequired } of methods) {
      expect({ AuthorizationType, AuthorizerId, ApiKeyRequired }).toEqual({
        AuthorizationType: 'CUSTOM',
        AuthorizerId: ref(authorizerId),
        ApiKeyRequired: true,
      });
    }
  });

  it('are passed to the function that answers with the Allow header', () => {
    expect(JSON.parse(z.string().parse(variablesOf('unmatched-route')['ALLOWED_METHODS']))).toEqual({
      '/pets': ['GET', 'POST'],
      '/pets/{petId}': ['GET'],
    });
  });

  it('are deployed again when a gateway response changes', () => {
    const { message } = errorCatalogue.internal_error;
    Reflect.set(errorCatalogue.internal_error, 'message', 'Another message.');
    const changed = new Synthesis({ stage: 'local' }).stack('AnimalStore-local');
    Reflect.set(errorCatalogue.internal_error, 'message', message);
    const deploymentOf = (stack: typeof local) => theResource(stack, 'AWS::ApiGateway::Deployment')[0];
    expect(deploymentOf(changed)).not.toBe(deploymentOf(local));
  });

  it('are deployed after all methods and gateway responses exist', () => {
    const [, { DependsOn }] = theResource(prod, 'AWS::ApiGateway::Deployment');
    const parts = ['Method', 'GatewayResponse', 'Authorizer'].flatMap((type) =>
      resourcesOf(prod, `AWS::ApiGateway::${type}`).map(([id]) => id),
    );
    expect(parts.length).toBeGreaterThan(20);
    expect(DependsOn).toEqual(expect.arrayContaining(parts));
  });
});

describe('the endpoint of a deployed stage', () => {
  const guardOf = (stack: typeof prod) => {
    const [id, { Properties }] = theResource(stack, 'AWS::SSM::Parameter');
    const [, { DependsOn }] = theResource(stack, 'AWS::ApiGateway::RestApi');
    return { id, name: Properties['Name'], before: DependsOn };
  };
  const [regional, edge] = [guardOf(prod), guardOf(synthesize('edge').stack('AnimalStore-prod'))];

  // CloudFormation creates before it deletes: a second parameter of the same name fails the deployment.
  it('cannot be changed in place: a parameter has the same name but another logical ID', () => {
    expect(edge.name).toBe(regional.name);
    expect(edge.id).not.toBe(regional.id);
  });

  it('is checked before the API changes', () => {
    for (const { id, before } of [regional, edge]) expect(before).toEqual([id]);
  });

  it('can be deployed again unchanged', () => {
    expect(regional.id).toBe(theResource(staging, 'AWS::SSM::Parameter')[0]);
  });

  it('has no parameter in the local stage, which is never deployed', () => {
    expect(resourcesOf(synthesize('local').stack('AnimalStore-local'), 'AWS::SSM::Parameter')).toEqual([]);
  });
});

describe('the authorizer', () => {
  it('is the authorizer function and reads the Authorization header', () => {
    expect(called(authorizer['AuthorizerUri'])).toBe('authorizer');
    expect(authorizer).toMatchObject({
      Type: 'TOKEN',
      IdentitySource: 'method.request.header.Authorization',
      RestApiId: ref(apiId),
    });
    expect(api['ApiKeySourceType']).toBe('AUTHORIZER');
  });

  it('knows how long its results are cached', () => {
    expect(String(authorizer['AuthorizerResultTtlInSeconds'])).toBe(
      variablesOf('authorizer')['AUTHORIZER_CACHE_SECONDS'],
    );
    expect(authorizer['AuthorizerResultTtlInSeconds']).toBe(60);
  });

  const expression = new RegExp(z.string().parse(authorizer['IdentityValidationExpression']));

  it.each(['local', 'staging', 'prod', 'a', 'eu2'])('is invoked for every key of the stage %s', (name) => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      const header = `${scheme} ${newKey(name)}`;
      expect(header).toMatch(expression);
      expect(keyOfHeader(header)).toBeDefined();
    }
    expect(`Bearer   ${newKey(name)}`).toMatch(expression);
  });

  it.each([
    ['no key', 'Bearer '],
    ['no scheme', newKey('prod')],
    ['another scheme', `Basic ${newKey('prod')}`],
    ['something before', ` Bearer ${newKey('prod')}`],
    ['something after', `Bearer ${newKey('prod')} `],
    ['two keys', `Bearer ${newKey('prod')}, Bearer ${newKey('prod')}`],
    ['a key that is cut short', `Bearer ${newKey('prod').slice(0, -1)}`],
    ['a key that goes on', `Bearer ${newKey('prod')}0`],
    ['a stage in capitals', `Bearer ${newKey('prod').replace('prod', 'PROD')}`],
    ['a signature of AWS', 'AWS4-HMAC-SHA256 Credential=AKIA/20260101/eu-west-1/execute-api/aws4_request'],
  ])('is not invoked for %s', (_, header) => {
    expect(header).not.toMatch(expression);
  });
});

describe('the stage of the API', () => {
  it('is the version of the interface', () => {
    expect(stage['StageName']).toBe('v1');
    // The suffix is another one in the partition of China.
    expect(prod.Outputs['ApiUrl']?.Value).toEqual(
      joined('https://', ref(apiId), '.execute-api.', ref('AWS::Region'), '.', ref('AWS::URLSuffix'), '/v1'),
    );
  });

  it('has traces, no detailed metrics, and no execution logs, which would contain keys', () => {
    expect(stage['TracingEnabled']).toBe(true);
    const [settings] = settingsSchema.parse(stage['MethodSettings']);
    expect(settings).toMatchObject({
      HttpMethod: '*',
      ResourcePath: '/*',
      LoggingLevel: 'OFF',
      DataTraceEnabled: false,
      MetricsEnabled: false,
    });
  });

  it('has no throttle in prod, and in staging one that leaves most of the account to prod', () => {
    const ceilingOf = (stack: typeof prod): unknown => {
      const [, { Properties }] = theResource(stack, 'AWS::ApiGateway::Stage');
      const [settings] = settingsSchema.parse(Properties['MethodSettings']);
      return [settings['ThrottlingRateLimit'], settings['ThrottlingBurstLimit']];
    };
    // In a Region with a lower quota, API Gateway would reject a throttle of 10,000 and 5,000.
    expect(ceilingOf(prod)).toEqual([undefined, undefined]);
    expect(ceilingOf(staging)).toEqual([500, 1_000]);
    expect(ceilingOf(local)).toEqual([undefined, undefined]);
  });

  it('does not cache, compress or convert anything, and has no resource policy', () => {
    const [settings] = settingsSchema.parse(stage['MethodSettings']);
    expect([stage['CacheClusterEnabled'] ?? false, settings['CachingEnabled'] ?? false]).toEqual([
      false,
      false,
    ]);
    const others = ['BinaryMediaTypes', 'MinimumCompressionSize', 'Policy', 'Body'];
    expect(others.filter((property) => property in api)).toEqual([]);
  });

  it('accepts TLS 1.2 or later for its own host name only, over IPv4 and IPv6', () => {
    expect(api['SecurityPolicy']).toMatch(/TLS13_1_[23]/);
    expect(api['EndpointAccessMode']).toBe('STRICT');
    expect(api['EndpointConfiguration']).toEqual({ Types: ['REGIONAL'], IpAddressType: 'dualstack' });
  });
});

describe('the access log', () => {
  const settings = z
    .object({ DestinationArn: z.unknown(), Format: z.string() })
    .parse(stage['AccessLogSetting']);
  const format = z.record(z.string(), z.string()).parse(JSON.parse(settings.Format));

  it('contains nothing that could reveal a key or its hash', () => {
    // Paths and error messages repeat what the client sent; the others contain the key or its hash.
    const telling = /header|path$|querystring|error\.message|apiKey|keyHash|principalId|userAgent|body/i;
    const fields = Object.values(format).filter((variable) => variable !== '$context.resourcePath');
    expect(fields.filter((variable) => telling.test(variable))).toEqual([]);
    for (const variable of fields) expect(variable).toMatch(/^\$context\.[A-Za-z.]+$/);
  });

  it('is kept for three months in prod, two weeks in staging and one day in local', () => {
    const retentionOf = (stack: typeof prod): unknown[] =>
      resourcesOf(stack, 'AWS::Logs::LogGroup').map(([, { Properties }]) => Properties['RetentionInDays']);
    // One for each of the five functions, and the access log.
    expect(retentionOf(prod)).toEqual(Array(6).fill(90));
    expect(retentionOf(staging)).toEqual(Array(6).fill(14));
    expect(retentionOf(local)).toEqual(Array(6).fill(1));
  });

  it('goes to a log group of the stack', () => {
    const groups = resourcesOf(prod, 'AWS::Logs::LogGroup').map(([id]) => id);
    expect(groups.filter((id) => JSON.stringify(settings.DestinationArn).includes(`"${id}"`)).length).toBe(1);
  });
});

describe('a custom domain', () => {
  const stack = copy.stack('Shelter-prod');

  it('serves the stage below /v1 and is the URL in the output', () => {
    const [domainId, { Properties }] = theResource(stack, 'AWS::ApiGateway::DomainName');
    expect(Properties).toMatchObject({
      DomainName: 'api.example.com',
      RegionalCertificateArn: certificateArn,
      EndpointAccessMode: 'STRICT',
      EndpointConfiguration: { Types: ['REGIONAL'], IpAddressType: 'dualstack' },
    });
    expect(Properties['SecurityPolicy']).toMatch(/TLS13_1_[23]/);
    expect(theResource(stack, 'AWS::ApiGateway::BasePathMapping')[1].Properties).toMatchObject({
      BasePath: 'v1',
      DomainName: ref(domainId),
      Stage: ref(stageId),
    });
    expect(stack.Outputs['ApiUrl']?.Value).toBe('https://api.example.com/v1');
  });

  it('has records for IPv4 and IPv6', () => {
    const records = resourcesOf(stack, 'AWS::Route53::RecordSet').map(([, { Properties }]) => Properties);
    expect(new Set(records.map(({ Type }) => Type))).toEqual(new Set(['A', 'AAAA']));
    expect(records.length).toBe(2);
    const [domainId] = theResource(stack, 'AWS::ApiGateway::DomainName');
    for (const record of records) {
      expect(record).toMatchObject({
        HostedZoneId: 'Z1',
        Name: 'api.example.com.',
        AliasTarget: {
          DNSName: { 'Fn::GetAtt': [domainId, 'RegionalDomainName'] },
          HostedZoneId: { 'Fn::GetAtt': [domainId, 'RegionalHostedZoneId'] },
        },
      });
    }
  });

  it('can have its records in another DNS service, and an output is their target', () => {
    const elsewhere = copy.stack('Shelter-staging');
    expect(resourcesOf(elsewhere, 'AWS::Route53::RecordSet')).toEqual([]);
    expect(elsewhere.Outputs['DomainTarget']?.Value).toEqual({
      'Fn::GetAtt': [theResource(elsewhere, 'AWS::ApiGateway::DomainName')[0], 'RegionalDomainName'],
    });
  });
});

describe('an edge endpoint', () => {
  const stack = synthesize('edge').stack('AnimalStore-prod');

  it.each(['RestApi', 'DomainName'])(
    'is served by CloudFront, over TLS 1.2 at least, IPv4 and IPv6: %s',
    (type) => {
      const [, { Properties }] = theResource(stack, `AWS::ApiGateway::${type}`);
      expect(Properties).toMatchObject({
        EndpointConfiguration: { Types: ['EDGE'], IpAddressType: 'dualstack' },
        EndpointAccessMode: 'STRICT',
      });
      expect(Properties['SecurityPolicy']).toMatch(/TLS1[23]_.*EDGE$/);
    },
  );

  it('has records that point to the distribution', () => {
    const [domainId, { Properties }] = theResource(stack, 'AWS::ApiGateway::DomainName');
    expect(Properties['CertificateArn']).toMatch(/:us-east-1:/);
    const records = resourcesOf(stack, 'AWS::Route53::RecordSet').map(([, record]) => record.Properties);
    expect(records.length).toBe(2);
    for (const record of records) {
      expect(record['AliasTarget']).toMatchObject({
        DNSName: { 'Fn::GetAtt': [domainId, 'DistributionDomainName'] },
      });
    }
  });
});

describe('the web ACL', () => {
  const stack = copy.stack('Shelter-prod');
  const [aclId, { Properties: acl }] = theResource(stack, 'AWS::WAFv2::WebACL');

  it('blocks only addresses that exceed their rate within five minutes', () => {
    expect(acl).toMatchObject({
      Scope: 'REGIONAL',
      DefaultAction: { Allow: {} },
      Rules: [
        {
          // No custom response, so that WAF_FILTERED defines it.
          Action: { Block: {} },
          Statement: {
            RateBasedStatement: { AggregateKeyType: 'IP', Limit: 2_000, EvaluationWindowSec: 300 },
          },
        },
      ],
    });
    // No custom response and no scope-down statement.
    const rule = JSON.stringify(acl['Rules']);
    expect(rule).not.toMatch(/"(?:CustomResponse|ScopeDownStatement|CustomRequestHandling)"/);
  });

  it('is associated with the stage', () => {
    const [, { Properties }] = theResource(stack, 'AWS::WAFv2::WebACLAssociation');
    expect(Properties['WebACLArn']).toEqual(arnOf(aclId));
    expect(JSON.stringify(Properties['ResourceArn'])).toContain(JSON.stringify(ref(stageId)));
  });

  it('counts blocked requests in metrics with the name of the stack', () => {
    const metrics = JSON.stringify(acl).match(/"CloudWatchMetricsEnabled":\w+,"MetricName":"[^"]+"/g);
    expect(metrics?.toSorted()).toEqual([
      '"CloudWatchMetricsEnabled":true,"MetricName":"Shelter-prod"',
      '"CloudWatchMetricsEnabled":true,"MetricName":"Shelter-prod-requests-per-address"',
    ]);
  });

  it('keeps no samples of requests, which would contain keys', () => {
    const samples = JSON.stringify(acl).match(/"SampledRequestsEnabled":\w+/g);
    expect(samples).toEqual(Array(2).fill('"SampledRequestsEnabled":false'));
  });

  it('does not exist by default', () => {
    expect(resourcesOf(prod, 'AWS::WAFv2::WebACL')).toEqual([]);
  });
});

function pathOf(resourceId: unknown): string {
  const id = idOf(resourceId);
  if (id === apiId) return '/';
  const { ParentId, PathPart } = resourceSchema.parse(prod.Resources[id]?.Properties);
  const parent = pathOf(ParentId);
  return parent === '/' ? `/${PathPart}` : `${parent}/${PathPart}`;
}

function variablesOf(entry: string): Record<string, unknown> {
  const [, { Properties }] = theResource(prod, 'AWS::Lambda::Function', { Handler: `${entry}.handler` });
  return lambdaSchema.parse(Properties).Environment.Variables;
}
