import type { Fact, Request } from './fact.ts';

/** What API Gateway answers by itself, and what it knows of keys and plans. */

const types = {
  source: 'ministack',
  in: 'test_apigwv1_gateway_response_types, pull 1756, 2026-09-16',
} as const;
const precedence = {
  source: 'ministack',
  in: 'test_apigwv1_gateway_response_precedence, pull 1756, 2026-09-16',
} as const;
const mappings = {
  source: 'ministack',
  in: 'test_apigwv1_gateway_response_mappings, pull 1756, 2026-09-16',
} as const;
const keyed = { source: 'ministack', in: 'issue 1746, 2026-09-15' } as const;
const token = (value: string): Request => ({ headers: { Authorization: value } });
const typeOf = (name: string) => ({ 'x-amzn-ErrorType': `${name}Exception` });
const rendered = (name: string) => ({
  ResponseParameters: { 'gatewayresponse.header.X-Default': `'${name}'` },
  ResponseTemplates: {
    'application/json': `{"${name}":$context.error.messageString,"type":"$context.error.responseType"}`,
  },
});
const denial =
  'User is not authorized to access this resource with an explicit deny in an identity-based policy';

export const factsOfGateway: readonly Fact[] = [
  // Answers of API Gateway.
  {
    source: 'localstack',
    in: 'test_routing_not_found, 2024-07-23',
    words: 'a path that does not exist',
    routes: ['GET /existing'],
    send: { url: '/v1/random-non-existing' },
    recorded: {
      status: 403,
      body: '{"message":"Missing Authentication Token"}',
      headers: typeOf('MissingAuthenticationToken'),
    },
  },
  {
    source: 'localstack',
    in: 'test_routing_not_found, 2024-07-23',
    words: 'a method that does not exist',
    routes: ['GET /existing'],
    send: { method: 'POST', url: '/v1/existing' },
    recorded: {
      status: 403,
      body: '{"message":"Missing Authentication Token"}',
      headers: typeOf('MissingAuthenticationToken'),
    },
  },
  {
    ...types,
    words: 'no token',
    send: { headers: {} },
    recorded: { status: 401, body: '{"message":"Unauthorized"}', headers: typeOf('Unauthorized') },
  },
  {
    ...types,
    words: 'an authorizer that throws Unauthorized',
    send: token('unauth'),
    recorded: { status: 401, body: '{"message":"Unauthorized"}', headers: typeOf('Unauthorized') },
  },
  {
    ...types,
    words: 'an authorizer that throws anything else',
    send: token('crash'),
    recorded: {
      status: 500,
      body: '{"message":null}',
      headers: typeOf('AuthorizerConfiguration'),
    },
  },
  {
    ...types,
    words: 'an authorizer that denies',
    send: token('deny'),
    recorded: {
      status: 403,
      body: `{"Message":"${denial}"}`,
      headers: typeOf('AccessDenied'),
    },
    // The stack has an entry for ACCESS_DENIED, and with one the name is the same on AWS.
    ours: { status: 403, body: `{"message":"${denial}"}`, headers: typeOf('AccessDenied') },
  },
  {
    ...types,
    words: 'an authorizer that denies, with an entry',
    responses: { ACCESS_DENIED: {} },
    send: token('deny'),
    recorded: { status: 403, body: `{"message":"${denial}"}`, headers: typeOf('AccessDenied') },
  },
  {
    source: 'ministack',
    in: 'test_apigwv1_authorizer_without_principal_id_reaches_the_backend, 2026-09-20',
    words: 'an authorizer that names no principal',
    send: token('noprincipal'),
    recorded: { status: 200 },
  },
  {
    ...precedence,
    words: 'an entry takes the place of that of its family, with its headers, and can have another status',
    routes: ['GET /existing'],
    responses: {
      DEFAULT_4XX: rendered('d4'),
      MISSING_AUTHENTICATION_TOKEN: {
        StatusCode: '404',
        ResponseParameters: { 'gatewayresponse.header.X-Mat': "'mat'" },
        ResponseTemplates: { 'application/json': '{"notfound":$context.error.messageString}' },
      },
    },
    recorded: {
      status: 404,
      body: { notfound: 'Missing Authentication Token' },
      headers: { 'X-Mat': 'mat', 'X-Default': null },
    },
  },
  {
    ...precedence,
    words: 'the entry of a family is for types without one of their own, which keep their status',
    routes: ['GET /existing'],
    responses: { DEFAULT_4XX: rendered('d4'), DEFAULT_5XX: rendered('d5') },
    recorded: {
      status: 403,
      body: { d4: 'Missing Authentication Token', type: 'MISSING_AUTHENTICATION_TOKEN' },
      headers: { 'X-Default': 'd4' },
    },
  },
  {
    ...precedence,
    words: 'and not for those of the other family',
    routes: ['GET /existing'],
    responses: { DEFAULT_5XX: rendered('d5') },
    recorded: {
      status: 403,
      body: { message: 'Missing Authentication Token' },
      headers: { 'X-Default': null },
    },
  },
  {
    ...precedence,
    words: 'an authorizer that throws is an error of the service, without a message',
    responses: { DEFAULT_4XX: rendered('d4'), DEFAULT_5XX: rendered('d5') },
    send: token('crash'),
    recorded: { status: 500, body: { d5: null, type: 'AUTHORIZER_FAILURE' }, headers: { 'X-Default': 'd5' } },
  },
  {
    source: 'localstack',
    in: 'test_gateway_response_put, 2024-06-20',
    words: 'the status of a family is for types without an entry',
    responses: { DEFAULT_5XX: { StatusCode: '599' } },
    send: token('crash'),
    recorded: { status: 599 },
  },
  {
    source: 'localstack',
    in: 'test_gateway_response_put, 2024-06-20',
    words: 'and not for those with one that has no status',
    responses: {
      DEFAULT_5XX: { StatusCode: '599' },
      AUTHORIZER_FAILURE: { ResponseParameters: { 'gatewayresponse.header.foo': "'bar'" } },
    },
    send: token('crash'),
    recorded: { status: 500, headers: { foo: 'bar' } },
  },
  {
    ...mappings,
    words: 'headers of an answer can come from the request and its context, though no function ran',
    routes: ['GET /auth/{x}'],
    responses: {
      UNAUTHORIZED: {
        StatusCode: '418',
        ResponseParameters: {
          'gatewayresponse.header.Access-Control-Allow-Origin': "'*'",
          'gatewayresponse.header.X-Origin': 'method.request.header.origin',
          'gatewayresponse.header.X-Query': 'method.request.querystring.q',
          'gatewayresponse.header.X-Req': 'context.requestId',
        },
        ResponseTemplates: {
          'application/json':
            '{"msg":$context.error.messageString,"type":"$context.error.responseType","raw":"$context.error.message","rpath":"$context.resourcePath","stage":"$context.stage"}',
        },
      },
    },
    send: { url: '/v1/auth/abc?q=qv', headers: { Origin: 'https://probe.example' } },
    recorded: {
      status: 418,
      body: {
        msg: 'Unauthorized',
        type: 'UNAUTHORIZED',
        raw: 'Unauthorized',
        rpath: '/auth/{x}',
        stage: 'v1',
      },
      headers: {
        'Content-Type': 'application/json',
        'Access-Control-Allow-Origin': '*',
        'X-Origin': 'https://probe.example',
        'X-Query': 'qv',
      },
      same: { 'X-Req': 'x-amzn-RequestId' },
    },
  },
  {
    ...mappings,
    words: 'a source that is missing leaves the header out, and an empty one leaves it empty',
    responses: {
      UNAUTHORIZED: {
        ResponseParameters: {
          'gatewayresponse.header.X-Origin': 'method.request.header.origin',
          'gatewayresponse.header.X-Query': 'method.request.querystring.q',
        },
      },
    },
    send: { headers: { Origin: '' } },
    recorded: { status: 401, headers: { 'X-Origin': '', 'X-Query': null } },
  },
  {
    ...mappings,
    words: 'a header can come from the path',
    routes: ['GET /auth/{x}'],
    responses: {
      UNAUTHORIZED: { ResponseParameters: { 'gatewayresponse.header.X-Path': 'method.request.path.x' } },
    },
    send: { url: '/v1/auth/abc', headers: {} },
    recorded: { headers: { 'X-Path': 'abc' } },
    // Nothing in the stack asks for it.
    ours: 'UNAUTHORIZED (AWS::ApiGateway::GatewayResponse): ResponseParameters.gatewayresponse.header.X-Path: ',
  },
  {
    source: 'ministack',
    in: 'test_apigwv1_gateway_response_configuration_error_variables, pull 1756, 2026-09-16',
    words: '$context.status is empty',
    responses: { UNAUTHORIZED: { ResponseTemplates: { 'application/json': '{"s":"$context.status"}' } } },
    send: { headers: {} },
    recorded: { body: '{"s":""}' },
  },
  // Keys and plans, for clients.
  {
    ...keyed,
    words: 'a request without a key of the stage',
    key: 'missing',
    recorded: { status: 403, body: '{"message":"Forbidden"}', headers: typeOf('Forbidden') },
  },
  {
    ...keyed,
    words: 'a request with a key that does not exist',
    key: 'unknown',
    recorded: { status: 403, body: '{"message":"Forbidden"}' },
  },
  {
    source: 'boaChat',
    in: 'issue 1, 2016-12-29',
    words: 'a request with a key in no plan',
    key: 'in no plan',
    recorded: { status: 403 },
  },
  {
    source: 'localstack',
    in: 'test_api_key_required_for_methods, 2023-07-27',
    words: 'a request with a key that is disabled',
    key: 'disabled',
    recorded: { status: 403 },
  },
  {
    source: 'localstack',
    in: 'test_api_key_required_for_methods, 2023-07-27',
    words: 'a request within the quota of the plan',
    plan: { Quota: { Limit: 10, Period: 'DAY' } },
    recorded: { status: 200 },
  },
  {
    ...keyed,
    words: 'a request beyond it',
    plan: { Quota: { Limit: 1, Period: 'DAY' } },
    recorded: { status: 429, body: '{"message":"Limit Exceeded"}' },
  },
  {
    // What has been recorded is the answer to the throttle of a stage.
    ...keyed,
    words: 'a request faster than the plan allows',
    plan: { Throttle: { RateLimit: 0.01, BurstLimit: 1 } },
    recorded: {
      status: 429,
      body: '{"message":"Too Many Requests"}',
      headers: typeOf('TooManyRequests'),
    },
  },
];
