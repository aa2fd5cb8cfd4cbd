import { describe, expect, it } from 'vitest';
import {
  gatewayAnswer,
  gatewayErrors,
  type GatewayResponse,
  type GatewayResponseInput,
  mappedValue,
  renderTemplate,
} from '../../src/gateway/gateway-responses.ts';

const input: GatewayResponseInput = {
  context: {
    requestId: 'r-1',
    requestTimeEpoch: 7,
    identity: { sourceIp: '127.0.0.1', user: null },
    authorizer: { allowance: '300' },
  },
  stageVariables: { colour: 'red' },
  header: (name) => ({ 'x-trace': 'abc', accept: 'text/plain, */*' })[name.toLowerCase()],
  query: (name) => (name === 'q' ? 'asked' : undefined),
  path: (name) => (name === 'id' ? '42' : undefined),
};

function answer(
  error: keyof typeof gatewayErrors,
  responses: Readonly<Record<string, Partial<GatewayResponse>>> = {},
) {
  const full = Object.entries(responses).map(
    ([type, response]) =>
      [type, { status: undefined, parameters: {}, templates: undefined, ...response }] as const,
  );
  const { headers, ...rest } = gatewayAnswer(gatewayErrors[error], new Map(full), input);
  return { ...rest, headers: Object.fromEntries(headers) };
}

describe('gateway responses', () => {
  it.each([
    ['unauthorized', 401, '{"message":"Unauthorized"}', 'UnauthorizedException'],
    [
      'accessDenied',
      403,
      '{"message":"User is not authorized to access this resource"}',
      'AccessDeniedException',
    ],
    ['authorizerConfiguration', 500, '{"message":null}', 'AuthorizerConfigurationException'],
    [
      'missingRoute',
      403,
      '{"message":"Missing Authentication Token"}',
      'MissingAuthenticationTokenException',
    ],
    ['throttled', 429, '{"message":"Too Many Requests"}', 'TooManyRequestsException'],
    ['quotaExceeded', 429, '{"message":"Limit Exceeded"}', 'LimitExceededException'],
    ['integrationTimeout', 504, '{"message":"Endpoint request timed out"}', 'InternalServerErrorException'],
    ['integrationFailed', 502, '{"message":"Internal server error"}', 'InternalServerErrorException'],
  ] as const)('%s is %i %s by default', (error, status, body, errorType) => {
    expect(answer(error)).toEqual({
      status,
      body,
      headers: { 'Content-Type': 'application/json', 'x-amzn-ErrorType': errorType },
    });
  });

  it('a type has its own status, headers and body', () => {
    const own = {
      status: 418,
      parameters: { 'gatewayresponse.header.X-Limit': 'context.authorizer.allowance' },
      templates: { 'application/json': '{"of":"$context.error.responseType"}' },
    };
    expect(answer('throttled', { THROTTLED: own, DEFAULT_4XX: { status: 400 } })).toMatchObject({
      status: 418,
      body: '{"of":"THROTTLED"}',
      headers: { 'X-Limit': '300' },
    });
  });

  it('a type that the template does not define uses DEFAULT_4XX or DEFAULT_5XX', () => {
    const fallback = (text: string) => ({ templates: { 'application/json': text } });
    const responses = { DEFAULT_4XX: fallback('four'), DEFAULT_5XX: fallback('five') };
    expect(answer('unauthorized', responses)).toMatchObject({ status: 401, body: 'four' });
    expect(answer('integrationTimeout', responses)).toMatchObject({ status: 504, body: 'five' });
    expect(answer('integrationFailed', responses)).toMatchObject({ status: 502, body: 'five' });
  });

  // The execution log of a failing authorizer: "Execution failed due to configuration error: Authorizer error". A
  // throttled function: https://repost.aws/knowledge-center/api-gateway-lambda-429
  it.each([
    ['authorizerConfiguration', 'AUTHORIZER_CONFIGURATION_ERROR'],
    ['integrationThrottled', 'INTEGRATION_FAILURE'],
    ['integrationFailed', 'INTEGRATION_FAILURE'],
    ['malformedProxyResponse', 'DEFAULT_5XX'],
    ['integrationTimeout', 'INTEGRATION_TIMEOUT'],
  ] as const)('%s has the type that AWS reports: %s', (error, type) => {
    expect(answer(error, { [type]: { status: 418 }, AUTHORIZER_FAILURE: { status: 599 } }).status).toBe(418);
  });

  it('a status of DEFAULT_4XX applies to every type that sets no status', () => {
    const responses = { DEFAULT_4XX: { status: 400 }, THROTTLED: {}, UNAUTHORIZED: { status: 401 } };
    expect(answer('throttled', responses).status).toBe(400);
    expect(answer('quotaExceeded', responses).status).toBe(400);
    expect(answer('unauthorized', responses).status).toBe(401);
  });

  it('the template cannot change the response to a body that is too large', () => {
    const own = { status: 400, templates: { 'application/json': 'own' } };
    expect(answer('requestTooLarge', { REQUEST_TOO_LARGE: own, DEFAULT_4XX: own })).toMatchObject({
      status: 413,
      body: '{"message":"HTTP content length exceeded 10485760 bytes."}',
    });
  });

  it('uses the template of the first accepted media type, and a header can replace Content-Type', () => {
    const templates = { 'application/json': 'json', 'text/plain': 'text' };
    expect(answer('throttled', { THROTTLED: { templates } })).toMatchObject({
      body: 'text',
      headers: { 'Content-Type': 'text/plain' },
    });
    const parameters = { 'gatewayresponse.header.content-type': "'application/problem+json'" };
    expect(answer('throttled', { THROTTLED: { templates, parameters } }).headers).toEqual({
      'content-type': 'application/problem+json',
      'x-amzn-ErrorType': 'TooManyRequestsException',
    });
  });

  it('omits a header without a value', () => {
    const parameters = { 'gatewayresponse.header.X-None': 'context.authorizer.unknown' };
    expect(answer('unauthorized', { UNAUTHORIZED: { parameters } }).headers).not.toHaveProperty('X-None');
  });

  it.each([
    ["'it''s static'", "it''s static"],
    ['context.requestId', 'r-1'],
    ['context.requestTimeEpoch', '7'],
    ['context.identity.sourceIp', '127.0.0.1'],
    ['context.identity.user', undefined],
    ['context.identity', undefined],
    ['context.toString', undefined],
    ['stageVariables.colour', 'red'],
    ['method.request.header.X-Trace', 'abc'],
    ['method.request.querystring.q', 'asked'],
    ['method.request.path.id', '42'],
    ['nonsense', undefined],
  ])('the mapping %s gives %s', (source, value) => {
    expect(mappedValue(source, input)).toBe(value);
  });

  it('replaces only variables in a template', () => {
    const template =
      '#set($a=1) $context.requestId. $stageVariables.colour $method.request.header.x-trace $context.none $5';
    expect(renderTemplate(template, input)).toBe('#set($a=1) r-1. red abc  $5');
  });
});
