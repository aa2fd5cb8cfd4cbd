import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { keyOfHeader, newKey } from '../../../functions/access/keys.ts';
import { errorCatalogue } from '../../../functions/http/errors.ts';
import { functionsOf, ref, resourcesOf, stackOf, stacksOf, theResource } from './synthesis.ts';

const prod = stackOf('AnimalStore-prod');
const copy = stackOf('Shelter-prod');
const [authorizerId, { Properties: authorizer }] = theResource(prod, 'AWS::ApiGateway::Authorizer');
const [, { Properties: stage }] = theResource(prod, 'AWS::ApiGateway::Stage');

describe('the routes', () => {
  it('all require the authorizer and an API key of API Gateway', () => {
    prod.template.allResourcesProperties('AWS::ApiGateway::Method', {
      AuthorizationType: 'CUSTOM',
      AuthorizerId: ref(authorizerId),
      ApiKeyRequired: true,
    });
    prod.template.hasResourceProperties('AWS::ApiGateway::RestApi', { ApiKeySourceType: 'AUTHORIZER' });
  });

  it('leave every other path and method to unmatched-route, which needs a key too', () => {
    const anyMethods = resourcesOf(prod, 'AWS::ApiGateway::Method').filter(
      ([, { Properties }]) => Properties['HttpMethod'] === 'ANY',
    );
    // They are on the root, below it, and on each path with an operation.
    const resources = resourcesOf(prod, 'AWS::ApiGateway::Resource');
    expect(anyMethods).toHaveLength(resources.length + 1);
    for (const [, { Properties }] of anyMethods) {
      expect(JSON.stringify(Properties['Integration'])).toContain('FunctionsUnmatchedRouteLive');
    }
  });

  it('are deployed again when a gateway response changes', () => {
    const deploymentOf = (stack: typeof prod) => theResource(stack, 'AWS::ApiGateway::Deployment')[0];
    const before = deploymentOf(stackOf('AnimalStore-local'));
    const { message } = errorCatalogue.internal_error;
    onTestFinished(() => void Reflect.set(errorCatalogue.internal_error, 'message', message));
    Reflect.set(errorCatalogue.internal_error, 'message', 'Another message.');
    const changed = stacksOf({ stage: 'local' }).get('AnimalStore-local')!;
    expect(deploymentOf(changed)).not.toBe(before);
  });

  it("are deployed again when the API's own address is closed, which takes effect with a deployment", () => {
    const domain = {
      name: 'api.example.com',
      certificateArn: 'arn:aws:acm:eu-west-1:123456789012:certificate/1',
    };
    const [open, closed] = [false, true].map((disableExecuteApiEndpoint) => {
      const prodSettings = { domain: { ...domain, disableExecuteApiEndpoint } };
      return stacksOf({ stage: 'prod', stages: { prod: prodSettings } }).get('AnimalStore-prod')!;
    });
    expect(theResource(open!, 'AWS::ApiGateway::Deployment')[0]).not.toBe(
      theResource(closed!, 'AWS::ApiGateway::Deployment')[0],
    );
    closed!.template.hasResourceProperties('AWS::ApiGateway::RestApi', { DisableExecuteApiEndpoint: true });
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

describe('the authorizer', () => {
  it('knows how long its results are cached', () => {
    expect(String(authorizer['AuthorizerResultTtlInSeconds'])).toBe(
      functionsOf(prod).get('authorizer')?.Environment.Variables['AUTHORIZER_CACHE_SECONDS'],
    );
  });

  const expressionOf = (stack: typeof prod) => {
    const [, { Properties }] = theResource(stack, 'AWS::ApiGateway::Authorizer');
    return new RegExp(z.string().parse(Properties['IdentityValidationExpression']));
  };
  const expression = expressionOf(prod);

  it.each(['staging', 'prod'] as const)(
    'is invoked for every key of the stage %s, and for no other',
    (name) => {
      const own = expressionOf(stackOf(`AnimalStore-${name}`));
      for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
        const header = `${scheme} ${newKey(name)}`;
        expect(header).toMatch(own);
        expect(keyOfHeader(header)).toBeDefined();
      }
      for (const other of ['local', 'staging', 'prod', 'prod2', 'pro'].filter((each) => each !== name))
        expect(`Bearer ${newKey(other)}`).not.toMatch(own);
    },
  );

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
  it('has no execution logs, which would contain keys, and no detailed metrics, which cost', () => {
    expect(stage['MethodSettings']).toMatchObject([
      {
        HttpMethod: '*',
        ResourcePath: '/*',
        LoggingLevel: 'OFF',
        DataTraceEnabled: false,
        MetricsEnabled: false,
      },
    ]);
  });

  it('has an address for IPv4 and one for IPv6', () => {
    const shelter = stackOf('Shelter-prod');
    const [domain] = theResource(shelter, 'AWS::ApiGateway::DomainName');
    const records = resourcesOf(shelter, 'AWS::Route53::RecordSet').map(([, { Properties }]) => Properties);
    const AliasTarget = {
      DNSName: { 'Fn::GetAtt': [domain, 'RegionalDomainName'] },
      HostedZoneId: { 'Fn::GetAtt': [domain, 'RegionalHostedZoneId'] },
    };
    const common = { Name: 'api.example.com.', HostedZoneId: 'Z1', AliasTarget };
    expect(records).toEqual([
      { ...common, Type: 'A' },
      { ...common, Type: 'AAAA' },
    ]);
  });

  it.each(['RestApi', 'DomainName'])('accepts TLS 1.2 or later only, for its own host name: %s', (type) => {
    copy.template.allResourcesProperties(`AWS::ApiGateway::${type}`, {
      SecurityPolicy: Match.stringLikeRegexp('^SecurityPolicy_TLS13_1_[23]_'),
      EndpointAccessMode: 'STRICT',
    });
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
});

describe('the web ACL', () => {
  const [, { Properties: acl }] = theResource(copy, 'AWS::WAFv2::WebACL');

  it('only counts requests by address, because its 429 says so, in the words of WAF_FILTERED', () => {
    expect(acl['DefaultAction']).toEqual({ Allow: {} });
    const rules = z.array(z.record(z.string(), z.unknown())).parse(acl['Rules']);
    for (const { Action, Statement } of rules) {
      expect(Action).toEqual({ Block: {} });
      expect(Object.keys(z.object().loose().parse(Statement))).toEqual(['RateBasedStatement']);
    }
    expect(JSON.stringify(rules)).not.toMatch(
      /"(?:CustomResponse|ScopeDownStatement|CustomRequestHandling)"/,
    );
  });

  it('keeps no samples of requests, which would contain keys', () => {
    const samples = JSON.stringify(acl).match(/"SampledRequestsEnabled":\w+/g);
    expect(samples).toEqual(Array(2).fill('"SampledRequestsEnabled":false'));
  });
});

describe('a usage plan', () => {
  it('is updated after the one before, because the management API permits one in 20 seconds', () => {
    const plans = resourcesOf(prod, 'AWS::ApiGateway::UsagePlan');
    const ids = plans.map(([id]) => id);
    for (const [index, [, { DependsOn }]] of plans.entries()) {
      expect(DependsOn.filter((id) => ids.includes(id))).toEqual(index === 0 ? [] : [ids[index - 1]]);
    }
  });
});
