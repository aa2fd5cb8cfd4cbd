import { ResponseType as KnownType } from 'aws-cdk-lib/aws-apigateway';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { toCallerContext } from '../../functions/access/caller.ts';
import { type ErrorCode, errorBody, errorCatalogue } from '../../functions/http/errors.ts';
import { zeroRateHeaders, rateLimitHeaders } from '../../functions/http/rate-headers.ts';
import { resourcesOf, synthesize, type Template, theResource } from './synthesis.ts';

const gatewayResponse = z.object({
  ResponseType: z.string(),
  StatusCode: z.string().optional(),
  ResponseParameters: z.record(z.string(), z.string()),
  ResponseTemplates: z.strictObject({ 'application/json': z.string() }),
});

const errorSchema = z.strictObject({
  code: z.enum(Object.keys(errorCatalogue) as ErrorCode[]),
  message: z.string(),
  status: z.int(),
});

const stack = synthesize().stack('AnimalStore-prod');
const answersOf = (template: Template) =>
  new Map(
    resourcesOf(template, 'AWS::ApiGateway::GatewayResponse').map(([, { Properties }]) => {
      const { ResponseType, StatusCode, ResponseParameters, ResponseTemplates } =
        gatewayResponse.parse(Properties);
      const text = ResponseTemplates['application/json'];
      const headers = new Map(
        Object.entries(ResponseParameters).map(([name, value]) => [
          name.replace('gatewayresponse.header.', ''),
          value,
        ]),
      );
      return [ResponseType, { status: StatusCode, text, body: errorSchema.parse(JSON.parse(text)), headers }];
    }),
  );
const answers = answersOf(stack);

/**
 * The types that can occur, and the code of each:
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
 */
const expected: Readonly<Record<string, ErrorCode>> = {
  ACCESS_DENIED: 'unauthorized',
  API_CONFIGURATION_ERROR: 'internal_error',
  AUTHORIZER_CONFIGURATION_ERROR: 'service_unavailable',
  AUTHORIZER_FAILURE: 'service_unavailable',
  DEFAULT_4XX: 'invalid_request',
  DEFAULT_5XX: 'internal_error',
  EXPIRED_TOKEN: 'unauthorized',
  INTEGRATION_FAILURE: 'service_unavailable',
  INTEGRATION_TIMEOUT: 'service_unavailable',
  INVALID_API_KEY: 'unauthorized',
  INVALID_SIGNATURE: 'unauthorized',
  MISSING_AUTHENTICATION_TOKEN: 'unauthorized',
  QUOTA_EXCEEDED: 'rate_limit_exceeded',
  RESOURCE_NOT_FOUND: 'route_not_found',
  THROTTLED: 'rate_limit_exceeded',
  UNAUTHORIZED: 'unauthorized',
  WAF_FILTERED: 'rate_limit_exceeded',
};

/** Types that AWS documents, and why they cannot occur or cannot be customized. */
const undeclared: Readonly<Record<string, string>> = {
  BAD_REQUEST_BODY: 'needs a request validator',
  BAD_REQUEST_PARAMETERS: 'needs a request validator',
  REQUEST_TOO_LARGE: 'cannot be customized',
  UNSUPPORTED_MEDIA_TYPE: 'needs strict passthrough behavior or payload compression',
};

/** Types that can occur without a successful run of the authorizer. */
const withoutAuthorizer = [
  'ACCESS_DENIED',
  'API_CONFIGURATION_ERROR',
  'AUTHORIZER_CONFIGURATION_ERROR',
  'AUTHORIZER_FAILURE',
  'DEFAULT_4XX',
  'DEFAULT_5XX',
  'EXPIRED_TOKEN',
  'INVALID_API_KEY',
  'INVALID_SIGNATURE',
  'MISSING_AUTHENTICATION_TOKEN',
  'RESOURCE_NOT_FOUND',
  'UNAUTHORIZED',
  'WAF_FILTERED',
];

const callerContext = toCallerContext(
  { keyHash: 'a', keyId: 'b', plan: 'free', limits: { perMinute: 1, perDay: 1 }, expiresAt: 0 },
  0,
  60,
);

describe('a gateway response', () => {
  it('is declared for every type that can occur, and for no other', () => {
    expect([...answers.keys()].toSorted()).toEqual(Object.keys(expected).toSorted());
    const types = Object.values(KnownType).flatMap((type) =>
      type instanceof KnownType ? [type.responseType] : [],
    );
    expect(types.toSorted()).toEqual([...Object.keys(expected), ...Object.keys(undeclared)].toSorted());
  });

  it('is left out only for types that cannot occur or cannot be customized', () => {
    expect(resourcesOf(stack, 'AWS::ApiGateway::RequestValidator')).toEqual([]);
    expect(resourcesOf(stack, 'AWS::ApiGateway::Model')).toEqual([]);
    const [, api] = theResource(stack, 'AWS::ApiGateway::RestApi');
    expect(api.Properties).not.toHaveProperty('MinimumCompressionSize');
    for (const [, { Properties }] of resourcesOf(stack, 'AWS::ApiGateway::Method')) {
      expect(Properties['Integration']).toMatchObject({ Type: 'AWS_PROXY' });
      expect(Properties['Integration']).not.toHaveProperty('PassthroughBehavior');
    }
  });

  it.each(Object.entries(expected))('has the body of the error catalogue: %s is %s', (type, code) => {
    expect(answers.get(type)?.body).toEqual(errorBody(code));
  });

  // The status of DEFAULT_4XX and DEFAULT_5XX replaces that of every type without one, so each type has its own.
  it.each(Object.keys(expected))('has the same status as its body: %s', (type) => {
    const { status, body } = answers.get(type)!;
    expect(status).toBe(String(body.status));
  });

  it.each(Object.keys(expected))('has the headers of every response: %s', (type) => {
    const { headers } = answers.get(type)!;
    expect(headers.get('Content-Type')).toBe("'application/json'");
    expect(headers.get('Cache-Control')).toBe("'no-store'");
    expect(headers.get('X-Request-Id')).toBe('context.requestId');
    for (const name of Object.values(rateLimitHeaders)) expect(headers.get(name)).toBeDefined();
  });

  it.each(withoutAuthorizer)('shows no limit if the authorizer may not have run: %s', (type) => {
    const { headers } = answers.get(type)!;
    const shown = Object.keys(zeroRateHeaders).map((name) => [name, headers.get(name)]);
    expect(Object.fromEntries(shown)).toEqual(
      Object.fromEntries(Object.entries(zeroRateHeaders).map(([name, value]) => [name, `'${value}'`])),
    );
  });

  it.each(Object.keys(expected).filter((type) => !withoutAuthorizer.includes(type)))(
    'shows the limit of the caller and a reset after which requests are available: %s',
    (type) => {
      const { headers } = answers.get(type)!;
      const day = type === 'QUOTA_EXCEEDED';
      expect(headers.get(rateLimitHeaders.limit)).toBe(`context.authorizer.${day ? 'perDay' : 'perMinute'}`);
      expect(headers.get(rateLimitHeaders.remaining)).toBe("'0'");
      expect(headers.get(rateLimitHeaders.reset)).toBe(
        `context.authorizer.${day ? 'dayReset' : 'throttleReset'}`,
      );
    },
  );

  it('reads only values that the authorizer returns', () => {
    const read = [...answers.values()].flatMap(({ headers }) =>
      [...headers.values()].filter((value) => value.startsWith('context.authorizer.')),
    );
    expect(read.length).toBeGreaterThan(0);
    const known = Object.keys(callerContext).map((name) => `context.authorizer.${name}`);
    expect(known).toEqual(expect.arrayContaining(read));
  });

  it.each(Object.keys(expected))('echoes nothing that the client sent: %s', (type) => {
    const { text, headers } = answers.get(type)!;
    expect(text).not.toContain('$');
    for (const value of headers.values()) {
      expect(value).toMatch(/^'[^']*'$|^context\.requestId$|^context\.authorizer\.\w+$/);
    }
  });

  it.each(Object.entries(expected).filter(([, code]) => errorCatalogue[code].status === 401))(
    'has a WWW-Authenticate challenge if the key is missing or invalid: %s',
    (type) => {
      const challenge = answers.get(type)?.headers.get('WWW-Authenticate');
      const keyWasSent = !['UNAUTHORIZED', 'MISSING_AUTHENTICATION_TOKEN'].includes(type);
      expect(challenge).toBe(`'Bearer realm="animal-store"${keyWasSent ? ', error="invalid_token"' : ''}'`);
    },
  );

  /** Seconds: a minute for the bucket, an hour for the quota, one second for errors that may be temporary. */
  const retryAfter: Readonly<Record<string, number>> = {
    THROTTLED: 60,
    WAF_FILTERED: 60,
    QUOTA_EXCEEDED: 3_600,
    AUTHORIZER_FAILURE: 1,
    AUTHORIZER_CONFIGURATION_ERROR: 1,
    INTEGRATION_FAILURE: 1,
    INTEGRATION_TIMEOUT: 1,
  };

  it.each(Object.entries(expected))('has Retry-After if a retry can succeed: %s', (type, code) => {
    const helps = [429, 503].includes(errorCatalogue[code].status);
    expect(answers.get(type)?.headers.get('Retry-After')).toBe(helps ? `'${retryAfter[type]}'` : undefined);
  });

  it('shows static zeros for every type if gatewayResponseHeaders is static', () => {
    const fixed = answersOf(synthesize('copy').stack('Shelter-prod'));
    expect([...fixed.keys()]).toEqual([...answers.keys()]);
    for (const [type, { headers, ...rest }] of fixed) {
      expect([...headers.values()].filter((value) => value.includes('authorizer'))).toEqual([]);
      for (const name of Object.values(rateLimitHeaders)) expect(headers.get(name)).toBe("'0'");
      const { headers: before, ...same } = answers.get(type)!;
      expect(rest).toEqual(same);
      expect(headers.get('Retry-After')).toBe(before.get('Retry-After'));
    }
  });
});
