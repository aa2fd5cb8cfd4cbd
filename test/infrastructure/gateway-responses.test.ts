import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { toCallerContext } from '../../functions/access/caller.ts';
import { type ErrorCode, errorBody, errorCatalogue } from '../../functions/http/errors.ts';
import { noAllowance, rateLimitHeaders } from '../../functions/http/rate-headers.ts';
import { resourcesOf, synthesize } from './synthesis.ts';

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

const stack = synthesize({ stage: 'prod' }).stack('AnimalStore-prod');
const answers = new Map(
  resourcesOf(stack, 'AWS::ApiGateway::GatewayResponse').map(([, { Properties }]) => {
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

/**
 * Every type that there is, and the code of its answer:
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
 */
const expected: Readonly<Record<string, ErrorCode>> = {
  ACCESS_DENIED: 'unauthorized',
  API_CONFIGURATION_ERROR: 'internal_error',
  AUTHORIZER_CONFIGURATION_ERROR: 'internal_error',
  AUTHORIZER_FAILURE: 'service_unavailable',
  BAD_REQUEST_BODY: 'invalid_request',
  BAD_REQUEST_PARAMETERS: 'invalid_request',
  DEFAULT_4XX: 'invalid_request',
  DEFAULT_5XX: 'internal_error',
  EXPIRED_TOKEN: 'unauthorized',
  INTEGRATION_FAILURE: 'service_unavailable',
  INTEGRATION_TIMEOUT: 'service_unavailable',
  INVALID_API_KEY: 'unauthorized',
  INVALID_SIGNATURE: 'unauthorized',
  MISSING_AUTHENTICATION_TOKEN: 'unauthorized',
  QUOTA_EXCEEDED: 'rate_limit_exceeded',
  REQUEST_TOO_LARGE: 'payload_too_large',
  RESOURCE_NOT_FOUND: 'route_not_found',
  THROTTLED: 'rate_limit_exceeded',
  UNAUTHORIZED: 'unauthorized',
  UNSUPPORTED_MEDIA_TYPE: 'unsupported_media_type',
  WAF_FILTERED: 'rate_limit_exceeded',
};

/** API Gateway gives these before, or instead of, an answer of the authorizer: there is no caller to tell about. */
const beforeTheCallerIsKnown = [
  'ACCESS_DENIED',
  'AUTHORIZER_CONFIGURATION_ERROR',
  'AUTHORIZER_FAILURE',
  'DEFAULT_4XX',
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

describe('an answer that API Gateway makes by itself', () => {
  it('is there for every type', () => {
    expect([...answers.keys()].toSorted()).toEqual(Object.keys(expected).toSorted());
  });

  it.each(Object.entries(expected))('is the Error of the catalogue: %s is %s', (type, code) => {
    expect(answers.get(type)?.body).toEqual(errorBody(code));
  });

  // A type without a status would take that of DEFAULT_4XX or DEFAULT_5XX.
  it.each(Object.keys(expected))('has the status that its body says: %s', (type) => {
    const { status, body } = answers.get(type)!;
    expect(status).toBe(String(body.status));
  });

  it.each(Object.keys(expected))('bears the headers of every answer: %s', (type) => {
    const { headers } = answers.get(type)!;
    expect(headers.get('Content-Type')).toBe("'application/json'");
    expect(headers.get('Cache-Control')).toBe("'no-store'");
    expect(headers.get('X-Request-Id')).toBe('context.requestId');
    for (const name of Object.values(rateLimitHeaders)) expect(headers.get(name)).toBeDefined();
  });

  it.each(beforeTheCallerIsKnown)('promises nothing to nobody: %s', (type) => {
    const { headers } = answers.get(type)!;
    const shown = Object.keys(noAllowance).map((name) => [name, headers.get(name)]);
    expect(Object.fromEntries(shown)).toEqual(
      Object.fromEntries(Object.entries(noAllowance).map(([name, value]) => [name, `'${value}'`])),
    );
  });

  it.each(Object.keys(expected).filter((type) => !beforeTheCallerIsKnown.includes(type)))(
    'tells a caller its limit and when it surely has requests again: %s',
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

  it('reads of the authorizer only what the authorizer says', () => {
    const read = [...answers.values()].flatMap(({ headers }) =>
      [...headers.values()].filter((value) => value.startsWith('context.authorizer.')),
    );
    expect(read.length).toBeGreaterThan(0);
    const known = Object.keys(callerContext).map((name) => `context.authorizer.${name}`);
    expect(known).toEqual(expect.arrayContaining(read));
  });

  it.each(Object.keys(expected))('repeats nothing that the client sent: %s', (type) => {
    const { text, headers } = answers.get(type)!;
    expect(text).not.toContain('$');
    for (const value of headers.values()) {
      expect(value).toMatch(/^'[^']*'$|^context\.requestId$|^context\.authorizer\.\w+$/);
    }
  });

  it.each(Object.entries(expected).filter(([, code]) => errorCatalogue[code].status === 401))(
    'challenges whoever has no valid key: %s',
    (type) => {
      const challenge = answers.get(type)?.headers.get('WWW-Authenticate');
      const keyWasSent = !['UNAUTHORIZED', 'MISSING_AUTHENTICATION_TOKEN'].includes(type);
      expect(challenge).toBe(`'Bearer realm="animal-store"${keyWasSent ? ', error="invalid_token"' : ''}'`);
    },
  );

  /** Seconds: until a full minute is over, a few times on a day that is used up, and soon where it may pass. */
  const retryAfter: Readonly<Record<string, number>> = {
    THROTTLED: 60,
    WAF_FILTERED: 60,
    QUOTA_EXCEEDED: 3_600,
    AUTHORIZER_FAILURE: 1,
    INTEGRATION_FAILURE: 1,
    INTEGRATION_TIMEOUT: 1,
  };

  it.each(Object.entries(expected))(
    'says after how many seconds to try again, where that helps: %s',
    (type, code) => {
      const helps = [429, 503].includes(errorCatalogue[code].status);
      expect(answers.get(type)?.headers.get('Retry-After')).toBe(helps ? `'${retryAfter[type]}'` : undefined);
    },
  );
});
