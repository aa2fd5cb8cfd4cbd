import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { ApiKeyStore, usagePlansOf } from '../../tools/contributors/local/api-keys.ts';
import { answerApiGateway } from '../../tools/contributors/local/aws-services.ts';
import { Gateway } from '../../tools/contributors/local/gateway.ts';
import { values } from '../../tools/contributors/local/gateway-request.ts';
import { region, Stack } from '../../tools/contributors/local/template.ts';

/*
 * What others have recorded of REST APIs on AWS, as far as a client of the service can meet it, or the key tool. The local service
 * has to do the same. What it is known to do otherwise stands beside it as `ours`, so that a change of it fails here.
 */

/** Tests and reports in public repositories. */
const sources = {
  /** `@markers.aws.validated`, with the dates in `*.validation.json`. */
  localstack: 'localstack/localstack tests/aws/services/apigateway',
  /** Release 1.5.33, and its issues and pull requests. */
  ministack: 'ministackorg/ministack tests/test_apigatewayv1.py',
  serverlessHttp: 'dougmoscrop/serverless-http',
  awsdocs: 'awsdocs/amazon-api-gateway-developer-guide',
  boaChat: 'moduspwnens/boa-chat',
};

interface Request {
  readonly method?: string;
  /** The path has the stage and the query. */
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
}

/** What is compared: the members that are given. */
interface Answer {
  readonly status?: number;
  /** Text, or JSON. */
  readonly body?: unknown;
  /** Null: there is none. */
  readonly headers?: Readonly<Record<string, string | RegExp | null>>;
  /** Headers with the values of others. */
  readonly same?: Readonly<Record<string, string>>;
  /** Members of the event of the function, and of its `requestContext`. */
  readonly event?: Readonly<Record<string, unknown>>;
  readonly context?: Readonly<Record<string, unknown>>;
  /** Headers of the event. */
  readonly received?: Readonly<Record<string, string | null>>;
}

interface Fact {
  readonly source: keyof typeof sources;
  /** The test or report there, and when it ran on AWS. */
  readonly in: string;
  readonly words: string;
  /** Methods and paths. Default: all. */
  readonly routes?: readonly string[];
  /** Properties of gateway responses, by type. */
  readonly responses?: Readonly<Record<string, object>>;
  /** Properties of the usage plan. */
  readonly plan?: object;
  readonly key?: 'valid' | 'missing' | 'unknown' | 'disabled' | 'in no plan';
  /** What the function answers. Default: its event. `throws`: it does. */
  readonly answers?: unknown;
  readonly send?: Request;
  readonly recorded: Answer;
  /** Text: the local service refuses the template with it. */
  readonly ours?: Answer | string;
}

const throws = Symbol('throws');
/** The functions of these tests return what they are given. */
const formats = {
  source: 'localstack',
  in: 'test_aws_proxy_response_payload_format_validation, 2024-11-15',
} as const;
const events = { source: 'localstack', in: 'test_lambda_aws_proxy_integration, 2024-08-02' } as const;
const remapping = {
  source: 'localstack',
  in: 'test_apigateway_header_remapping_aws[AWS_PROXY], 2024-12-11',
} as const;
const traces = { source: 'localstack', in: 'test_invocation_trace_id, 2024-08-07' } as const;
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

const serverError = { status: 502, body: { message: 'Internal server error' } };
const token = (value: string): Request => ({ headers: { Authorization: value } });
const encoded = Buffer.from('test-data').toString('base64');
const typeOf = (name: string) => ({ 'x-amzn-ErrorType': `${name}Exception` });
const rendered = (name: string) => ({
  ResponseParameters: { 'gatewayresponse.header.X-Default': `'${name}'` },
  ResponseTemplates: {
    'application/json': `{"${name}":$context.error.messageString,"type":"$context.error.responseType"}`,
  },
});
const trace = 'Root=1-3152b799-8954dae64eda91bc9a23a7e8';
const denial =
  'User is not authorized to access this resource with an explicit deny in an identity-based policy';

const facts: readonly Fact[] = [
  // What a function can answer.
  {
    ...formats,
    words: 'an answer without a body',
    answers: { statusCode: 200 },
    recorded: { status: 200, body: '', headers: { 'Content-Type': 'application/json' } },
  },
  {
    ...formats,
    words: 'an answer with headers, of which a flag becomes text',
    answers: { statusCode: 200, headers: { 'test-header': 'value', 'header-bool': true } },
    recorded: { status: 200, headers: { 'test-header': 'value', 'header-bool': 'true' } },
  },
  {
    ...formats,
    words: 'an answer with null for headers',
    answers: { statusCode: 200, headers: null },
    recorded: { status: 200, body: '' },
  },
  {
    ...formats,
    words: 'an answer with a member that is not known',
    answers: { statusCode: 200, wrongValue: 'value' },
    recorded: serverError,
  },
  {
    source: 'localstack',
    in: 'test_lambda_aws_proxy_response_format, empty-response, 2024-02-23',
    words: 'an answer without any member',
    answers: {},
    recorded: { status: 200, body: '' },
  },
  {
    ...formats,
    words: 'an error instead of an answer',
    answers: throws,
    recorded: serverError,
  },
  {
    ...formats,
    words: 'a body that is said to be Base64, without binary media types',
    answers: { statusCode: 200, body: encoded, isBase64Encoded: true },
    recorded: { status: 200, body: encoded },
  },
  {
    ...formats,
    words: 'a body that is Base64, and not said to be',
    answers: { statusCode: 200, body: encoded },
    recorded: { status: 200, body: encoded },
  },
  {
    source: 'localstack',
    in: 'test_aws_proxy_binary_response, 2025-01-29',
    words: 'an image to who accepts it, without binary media types',
    answers: {
      statusCode: 200,
      body: encoded,
      isBase64Encoded: true,
      headers: { 'Content-Type': 'image/png' },
    },
    send: { headers: { Authorization: 'allow', Accept: 'image/png' } },
    recorded: { status: 200, body: encoded, headers: { 'Content-Type': 'image/png' } },
  },
  {
    ...formats,
    words: 'an answer with several values of a header',
    answers: { statusCode: 200, multiValueHeaders: { 'test-multi': ['value1', 'value2'] } },
    recorded: { status: 200, headers: { 'test-multi': 'value1, value2' } },
  },
  {
    ...formats,
    words: 'an answer with a header in both members',
    answers: {
      statusCode: 200,
      multiValueHeaders: { 'test-multi': ['value-multi'] },
      headers: { 'test-multi': 'value-solo' },
    },
    recorded: { headers: { 'test-multi': 'value-multi, value-solo' } },
  },
  {
    ...formats,
    words: 'an answer with a header in both members, in another case',
    answers: {
      statusCode: 200,
      multiValueHeaders: { 'tesT-Multi': ['value-multi'] },
      headers: { 'test-multi': 'value-solo' },
    },
    recorded: { headers: { 'test-multi': 'value-multi, value-solo' } },
  },
  {
    ...formats,
    words: 'an answer with text for several values',
    answers: { statusCode: 200, multiValueHeaders: { 'test-multi-invalid': 'value1' } },
    recorded: serverError,
  },
  {
    ...formats,
    words: 'an answer with text for a status',
    answers: { statusCode: 'test' },
    recorded: serverError,
  },
  {
    ...formats,
    words: 'an answer with a status as text',
    answers: { statusCode: '201' },
    recorded: { status: 201, body: '' },
  },
  { ...formats, words: 'an answer that is only text', answers: 'justAString', recorded: serverError },
  {
    ...formats,
    words: 'an answer that is only headers',
    answers: { headers: { 'test-header': 'value' } },
    recorded: { status: 200, body: '', headers: { 'test-header': 'value' } },
  },
  // Paths and queries.
  {
    ...events,
    words: 'a path and no query',
    send: { url: '/v1/proxy-value' },
    recorded: {
      event: {
        resource: '/{proxy+}',
        path: '/proxy-value',
        pathParameters: { proxy: 'proxy-value' },
        queryStringParameters: null,
        multiValueQueryStringParameters: null,
        body: null,
        isBase64Encoded: false,
      },
      context: { path: '/v1/proxy-value', resourcePath: '/{proxy+}' },
    },
  },
  {
    ...events,
    words: 'a slash at the end is in the path, and not in the parameter',
    send: { url: '/v1/proxy-value/' },
    recorded: {
      event: { path: '/proxy-value/', pathParameters: { proxy: 'proxy-value' } },
      context: { path: '/v1/proxy-value/' },
    },
  },
  {
    ...events,
    words: 'two slashes in a parameter stay',
    send: { url: '/v1/proxy-value//double-slash' },
    recorded: {
      event: {
        path: '/proxy-value//double-slash',
        pathParameters: { proxy: 'proxy-value//double-slash' },
      },
    },
  },
  {
    ...events,
    words: 'two slashes before the stage are one',
    send: { url: '//v1/proxy-value' },
    recorded: { event: { path: '/proxy-value' }, context: { path: '/v1/proxy-value' } },
  },
  {
    ...events,
    words: 'two slashes after the stage are one in the path, and two in that of the context',
    send: { url: '/v1//proxy-value' },
    recorded: {
      event: { path: '/proxy-value', pathParameters: { proxy: 'proxy-value' } },
      context: { path: '/v1//proxy-value' },
    },
  },
  {
    ...events,
    words: 'so are those before a path of its own',
    routes: ['ANY /{proxy+}', 'ANY /hardcoded'],
    send: { url: '/v1//hardcoded' },
    recorded: {
      event: { resource: '/hardcoded', path: '/hardcoded', pathParameters: null },
      context: { path: '/v1//hardcoded' },
    },
  },
  {
    ...events,
    words: 'a query',
    send: { url: '/v1/proxy-value/?urlparam=test' },
    recorded: {
      event: {
        path: '/proxy-value/',
        pathParameters: { proxy: 'proxy-value' },
        queryStringParameters: { urlparam: 'test' },
        multiValueQueryStringParameters: { urlparam: ['test'] },
      },
    },
  },
  {
    ...events,
    words: 'of several values, one has the last',
    send: { url: '/v1/proxy-value?category=electronics&category=books&price=10&price=20&price=30' },
    recorded: {
      event: {
        queryStringParameters: { category: 'books', price: '30' },
        multiValueQueryStringParameters: { category: ['electronics', 'books'], price: ['10', '20', '30'] },
      },
    },
  },
  {
    ...events,
    words: 'a path stays encoded',
    send: { url: '/v1/proxy-value/api/user/test%2Balias@gmail.com/plus/test+alias@gmail.com' },
    recorded: {
      event: {
        path: '/proxy-value/api/user/test%2Balias@gmail.com/plus/test+alias@gmail.com',
        pathParameters: { proxy: 'proxy-value/api/user/test%2Balias@gmail.com/plus/test+alias@gmail.com' },
      },
    },
  },
  {
    ...events,
    words: 'a query is decoded, and a plus sign is a space',
    send: {
      url: '/v1/proxy-value/api?dateTimeOffset=2023-06-12T18:05:10.123456+00:00&email=test%2Balias@gmail.com&plus=test+alias@gmail.com&url=https://www.google.com/&whitespace=foo%20bar&zhash=abort/',
    },
    recorded: {
      event: {
        queryStringParameters: {
          dateTimeOffset: '2023-06-12T18:05:10.123456 00:00',
          email: 'test+alias@gmail.com',
          plus: 'test alias@gmail.com',
          url: 'https://www.google.com/',
          whitespace: 'foo bar',
          zhash: 'abort/',
        },
      },
    },
  },
  {
    source: 'localstack',
    in: 'test_routing_with_hardcoded_resource_sibling_order, 2024-07-23',
    words: 'what a path of its own does not have goes to the greedy one',
    routes: ['GET /part1', 'GET /part1/hardcoded-value', 'GET /{param+}'],
    send: { url: '/v1/part1/random-value' },
    recorded: { event: { resource: '/{param+}', pathParameters: { param: 'part1/random-value' } } },
  },
  {
    source: 'localstack',
    in: 'test_proxy_routing_with_hardcoded_resource_sibling, 2024-07-23',
    words: 'so does a method that a path of its own does not have',
    routes: ['POST /test', 'ANY /test/any', 'OPTIONS /{proxy+}'],
    send: { method: 'OPTIONS', url: '/v1/test' },
    recorded: { event: { resource: '/{proxy+}' } },
  },
  {
    source: 'ministack',
    in: 'test_apigwv1_methodless_resource_falls_through_to_proxy, eu-central-1',
    words: 'and a path that is only on the way to another',
    routes: ['GET /jobs/{operation_type}', 'ANY /{proxy+}'],
    send: { url: '/v1/jobs' },
    recorded: { event: { resource: '/{proxy+}', pathParameters: { proxy: 'jobs' } } },
  },
  // Headers, bodies and codings.
  {
    ...events,
    words: 'Authorization has this spelling, and other headers have their own',
    send: {
      url: '/v1/proxy-value',
      headers: { aUThorization: 'Bearer token123;API key456', 'tEsT-HEADeR': 'aValUE' },
    },
    recorded: {
      received: {
        Authorization: 'Bearer token123;API key456',
        aUThorization: null,
        'tEsT-HEADeR': 'aValUE',
      },
    },
  },
  {
    ...events,
    words: 'a body is text, with the type that it is sent with',
    send: {
      method: 'POST',
      headers: { Authorization: 'allow', 'Content-Type': 'application/json;charset=utf-8' },
      body: '{"message": "hello world"}',
    },
    recorded: {
      event: { body: '{"message": "hello world"}', isBase64Encoded: false },
      received: { 'Content-Type': 'application/json;charset=utf-8' },
    },
  },
  {
    ...remapping,
    words: 'of headers, those of the connection do not reach the function',
    send: {
      headers: {
        Authorization: 'allow',
        Connection: 'keep-alive',
        'Content-Length': '0',
        'Content-MD5': 'x',
        Expect: '200-ok',
        'Max-Forwards': '2',
        'Proxy-Authenticate': 'Basic',
        Server: 'x',
        TE: 'gzip',
        'Transfer-Encoding': 'deflate',
        Trailer: 'x',
        Upgrade: 'HTTP/2.0',
        'WWW-Authenticate': 'Basic',
        Age: '1',
        Date: 'x',
        Pragma: 'cache',
        Range: 'bytes=500-999',
        Referer: 'https://example.com/',
        'User-Agent': 'x',
        Warn: '299 x',
      },
    },
    recorded: {
      received: {
        ...Object.fromEntries(
          [
            'Connection',
            'Content-Length',
            'Content-MD5',
            'Expect',
            'Max-Forwards',
            'Proxy-Authenticate',
            'Server',
            'TE',
            'Transfer-Encoding',
            'Trailer',
            'Upgrade',
            'WWW-Authenticate',
          ].map((name) => [name, null]),
        ),
        Age: '1',
        Date: 'x',
        Pragma: 'cache',
        Range: 'bytes=500-999',
        Referer: 'https://example.com/',
        'User-Agent': 'x',
        Warn: '299 x',
      },
    },
  },
  {
    ...remapping,
    words: 'a coding without a body reaches the function',
    send: { headers: { Authorization: 'allow', 'Content-Encoding': 'deflate', 'Accept-Encoding': 'br' } },
    recorded: {
      status: 200,
      event: { body: null },
      received: { 'Content-Encoding': 'deflate', 'Accept-Encoding': 'br' },
    },
  },
  {
    source: 'serverlessHttp',
    in: 'issue 194, 2021-01-27',
    words: 'a compressed body is decompressed, and its header stays',
    send: {
      method: 'POST',
      headers: { Authorization: 'allow', 'Content-Encoding': 'gzip', 'Content-Type': 'application/json' },
      body: gzipSync('{"a":1}'),
    },
    recorded: {
      event: { body: '{"a":1}', isBase64Encoded: false },
      received: { 'Content-Encoding': 'gzip' },
    },
  },
  {
    source: 'awsdocs',
    in: 'pull 32, 2019-06-14',
    words: 'an answer is not compressed if the first coding that the client accepts is another one',
    answers: { statusCode: 200, body: 'x'.repeat(5_000) },
    send: { headers: { Authorization: 'allow', 'Accept-Encoding': 'br, gzip' } },
    recorded: { status: 200, body: 'x'.repeat(5_000), headers: { 'Content-Encoding': null } },
  },
  {
    ...traces,
    words: 'an answer has a trace',
    recorded: { headers: { 'X-Amzn-Trace-Id': /^Root=1-[\da-f]{8}-[\da-f]{24}/ } },
  },
  {
    ...traces,
    words: 'which is that of the request',
    send: {
      headers: { Authorization: 'allow', 'x-amzn-trace-id': `${trace};Parent=7fa8c0f79203be72;Sampled=1` },
    },
    recorded: {
      headers: { 'X-Amzn-Trace-Id': new RegExp(`^${trace};Parent=7fa8c0f79203be72;Sampled=1`) },
    },
  },
  {
    ...traces,
    words: 'and gets a parent if the request gives none',
    send: { headers: { Authorization: 'allow', 'x-amzn-trace-id': trace } },
    recorded: { headers: { 'X-Amzn-Trace-Id': new RegExp(`^${trace};Parent=[\\da-f]{16}`) } },
  },
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

/** A stack with an authorizer, a function, a usage plan, and what the fact needs. */
function stackOf({ routes = ['ANY /{proxy+}'], responses = {}, plan = {} }: Partial<Fact>): Stack {
  const functionUri = (name: string) =>
    `arn:aws:apigateway:${region}:lambda:path/2015-03-31/functions/${name}/invocations`;
  const RestApiId = { Ref: 'Api' };
  const resources: Record<string, object> = {};
  for (const route of routes) {
    const [HttpMethod, path = ''] = route.split(' ');
    let parent: object = { 'Fn::GetAtt': ['Api', 'RootResourceId'] };
    let id = 'Resource';
    for (const PathPart of path.slice(1).split('/')) {
      id += PathPart.replaceAll(/\W/g, '');
      resources[id] = {
        Type: 'AWS::ApiGateway::Resource',
        Properties: { ParentId: parent, PathPart, RestApiId },
      };
      parent = { Ref: id };
    }
    resources[`${id}${HttpMethod}`] = {
      Type: 'AWS::ApiGateway::Method',
      Properties: {
        ApiKeyRequired: true,
        AuthorizationType: 'CUSTOM',
        AuthorizerId: { Ref: 'Authorizer' },
        HttpMethod,
        Integration: { IntegrationHttpMethod: 'POST', Type: 'AWS_PROXY', Uri: functionUri('function') },
        ResourceId: parent,
        RestApiId,
      },
    };
  }
  for (const [ResponseType, properties] of Object.entries(responses))
    resources[ResponseType] = {
      Type: 'AWS::ApiGateway::GatewayResponse',
      Properties: { ...properties, ResponseType, RestApiId },
    };
  return new Stack('Recorded', '.', {
    Resources: {
      ...resources,
      Api: {
        Type: 'AWS::ApiGateway::RestApi',
        Properties: { ApiKeySourceType: 'AUTHORIZER', MinimumCompressionSize: 0, Name: 'api' },
      },
      Authorizer: {
        Type: 'AWS::ApiGateway::Authorizer',
        Properties: {
          AuthorizerResultTtlInSeconds: 0,
          AuthorizerUri: functionUri('authorizer'),
          IdentitySource: 'method.request.header.Authorization',
          IdentityValidationExpression: '.+',
          Name: 'authorizer',
          RestApiId,
          Type: 'TOKEN',
        },
      },
      Deployment: { Type: 'AWS::ApiGateway::Deployment', Properties: {} },
      Stage: {
        Type: 'AWS::ApiGateway::Stage',
        Properties: { DeploymentId: { Ref: 'Deployment' }, RestApiId, StageName: 'v1' },
      },
      Plan: {
        Type: 'AWS::ApiGateway::UsagePlan',
        Properties: { ...plan, ApiStages: [{ ApiId: RestApiId, Stage: 'v1' }], UsagePlanName: 'plan' },
      },
    },
  });
}

/** Answers like the authorizer of ministack's tests. */
function authorize(event: string, usageIdentifierKey: string | undefined) {
  const { authorizationToken: given } = JSON.parse(event) as { authorizationToken: string };
  if (given === 'unauth') return { ok: false, errorType: 'Error', errorMessage: 'Unauthorized' } as const;
  if (given === 'crash') return { ok: false, errorType: 'Error', errorMessage: 'boom' } as const;
  const policyDocument = {
    Version: '2012-10-17',
    Statement: [{ Effect: given === 'deny' ? 'Deny' : 'Allow', Action: 'execute-api:Invoke', Resource: '*' }],
  };
  const principal = given === 'noprincipal' ? {} : { principalId: 'u1' };
  return { ok: true, payload: JSON.stringify({ ...principal, policyDocument, usageIdentifierKey }) } as const;
}

/** What a value has of the members of another. Null: nothing. */
function picked(like: unknown, from: unknown): unknown {
  if (like === null || typeof like !== 'object' || 'asymmetricMatch' in like) return from ?? null;
  if (Array.isArray(like)) return (from as unknown[]).map((each, index) => picked(like[index], each));
  return Object.fromEntries(
    Object.entries(like).map(([name, each]) => [
      name,
      picked(each, (from as Record<string, unknown> | undefined)?.[name]),
    ]),
  );
}

async function answerOf(fact: Fact): Promise<Answer> {
  const stack = stackOf(fact);
  const keys = new ApiKeyStore();
  keys.plans = usagePlansOf(stack);
  const { key = 'valid', recorded } = fact;
  const created = keys.create({ value: 'a'.repeat(40), enabled: key !== 'disabled' }, Date.now());
  if (key !== 'in no plan') keys.bind(stack.only('AWS::ApiGateway::UsagePlan').id, created.id);
  const sent = key === 'missing' ? undefined : key === 'unknown' ? 'b'.repeat(40) : created.value;
  const gateway = new Gateway({
    stack,
    keys,
    invoke: async (name, { event }) => {
      if (name === 'authorizer') return authorize(event, sent);
      const { answers = { statusCode: 200, body: event } } = fact;
      return answers === throws
        ? { ok: false, errorType: 'Error', errorMessage: 'boom' }
        : { ok: true, payload: JSON.stringify(answers) };
    },
  });
  const {
    method = 'GET',
    url = '/v1/test',
    headers = { Authorization: 'allow' },
    body = '',
  } = fact.send ?? {};
  const incoming = {
    method,
    url,
    rawHeaders: Object.entries({ Host: 'localhost', ...headers }).flat(),
    body: Buffer.from(body),
    time: Date.now(),
  };
  const send = () => gateway.handle(incoming);
  // The second request is the one that a plan refuses.
  if (fact.plan) await send();
  const response = await send();
  const text = response.body.toString();
  const event = () => JSON.parse(text) as Record<string, Record<string, unknown>>;
  const membersOf = (like: object, from: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(Object.keys(like).map((name) => [name, from[name] ?? null]));
  const valueOf = (name: string) => {
    const all = values(response.headers, name);
    return all.length === 0 ? null : all.join(', ');
  };
  return {
    ...('status' in recorded && { status: response.status }),
    ...('body' in recorded && {
      body: typeof recorded.body === 'string' ? text : (JSON.parse(text) as unknown),
    }),
    ...(recorded.headers && {
      headers: Object.fromEntries(Object.keys(recorded.headers).map((name) => [name, valueOf(name)])),
    }),
    ...(recorded.same && {
      same: Object.fromEntries(
        Object.entries(recorded.same).map(([name, other]) => [
          name,
          valueOf(name) === valueOf(other) ? other : `${valueOf(name)}`,
        ]),
      ),
    }),
    ...(recorded.event && { event: membersOf(recorded.event, event()) }),
    ...(recorded.context && { context: membersOf(recorded.context, event()['requestContext']!) }),
    ...(recorded.received && {
      received: membersOf(recorded.received, event()['headers']!) as Record<string, string | null>,
    }),
  };
}

/** The answer, with patterns of headers as matchers. */
function expected(answer: Answer): object {
  const { headers, ...rest } = answer;
  if (!headers) return rest;
  const matched = Object.entries(headers).map(([name, value]) => [
    name,
    value instanceof RegExp ? (expect.stringMatching(value) as unknown) : value,
  ]);
  return { ...rest, headers: Object.fromEntries(matched) as object };
}

test.each(facts)('$source, $in: $words', async (fact) => {
  const { ours = fact.recorded } = fact;
  if (typeof ours === 'string') await expect(answerOf(fact)).rejects.toThrow(ours);
  else expect(await answerOf(fact)).toEqual(expected(ours));
});

/** A call of API Gateway's management, and what is recorded of its answer. `FIRST` is the ID of the key, `PLAN` of the plan. */
type Call = readonly [request: string, input: object | undefined, status: number, answer?: object];

interface KeyFact {
  readonly in: string;
  readonly words: string;
  readonly calls: readonly Call[];
  /** The last call, where ours differs. */
  readonly ours?: readonly [status: number, answer?: object];
}

const badRequest = (message: string) => ({ __type: 'BadRequestException', message });
const createKey = (input: object): Call => ['POST /apikeys', input, 201];

const keyFacts: readonly KeyFact[] = [
  {
    in: 'test_create_api_key_with_invalid_name, 2025-09-26',
    words: 'a name has 1,024 characters at most',
    calls: [
      [
        'POST /apikeys',
        { name: 'a'.repeat(1_025) },
        400,
        badRequest('Invalid API Key name, can be at most 1024 characters.'),
      ],
    ],
  },
  {
    in: 'test_create_api_key_with_invalid_name, 2025-09-26',
    words: 'a key can have no name, and is not enabled unless that is asked for',
    calls: [
      [
        'POST /apikeys',
        {},
        201,
        { enabled: false, stageKeys: [], value: expect.any(String) as string, name: null },
      ],
      ['POST /apikeys', { name: '' }, 201, { enabled: false, stageKeys: [], name: null }],
    ],
  },
  {
    in: 'test_create_api_key_with_invalid_value, 2025-09-26',
    words: 'a value has 20 to 128 characters',
    calls: [
      [
        'POST /apikeys',
        { value: 'short' },
        400,
        badRequest('API Key value should be at least 20 characters'),
      ],
      [
        'POST /apikeys',
        { value: 'a'.repeat(129) },
        400,
        badRequest('API Key value exceeds maximum size of 128 characters'),
      ],
    ],
  },
  {
    in: 'test_create_api_key_with_invalid_value, 2025-09-26',
    words: 'an empty value is generated',
    calls: [['POST /apikeys', { value: '' }, 201, { value: expect.stringMatching(/.{20}/) as string }]],
  },
  {
    in: 'test_get_api_keys, 2024-10-10',
    words: 'a list has no values, and names are found by how they begin',
    calls: [
      createKey({ name: 'test-key-1' }),
      [
        'GET /apikeys',
        undefined,
        200,
        { item: [{ id: 'FIRST', name: 'test-key-1', enabled: false, stageKeys: [], value: null }] },
      ],
      ['GET /apikeys?name=test-key', undefined, 200, { item: [{ id: 'FIRST' }] }],
      ...['TEST-KEY', 'st-key-1', 'st-key', 'other'].map((name): Call => [
        `GET /apikeys?name=${name}`,
        undefined,
        200,
        { item: [] },
      ]),
    ],
  },
  {
    in: 'test_get_api_keys, 2024-10-10',
    words: 'a page has a position if there is more',
    calls: [
      createKey({ name: 'test-key-1' }),
      createKey({ name: 'test-key-2' }),
      ['GET /apikeys?limit=1', undefined, 200, { item: [{}], position: expect.any(String) as string }],
      ['GET /apikeys?limit=2', undefined, 200, { item: [{}, {}], position: null }],
    ],
  },
  {
    in: 'test_negative_get_usage_plan_api_keys, 2025-09-26',
    words: 'a limit below 0',
    calls: [['GET /apikeys?limit=-1', undefined, 200, { item: [] }]],
    // The key tool sends none. A caller that sends one has a fault, which is told.
    ours: [400, { __type: 'BadRequestException' }],
  },
  {
    in: 'test_get_usage_plan_api_keys, 2025-09-26',
    words: 'a key in a plan, and the keys of the plan with their values',
    calls: [
      createKey({ name: 'test-key-1', value: 'a'.repeat(20) }),
      ['GET /usageplans/PLAN/keys', undefined, 200, { item: [] }],
      [
        'POST /usageplans/PLAN/keys',
        { keyId: 'FIRST', keyType: 'API_KEY' },
        201,
        { id: 'FIRST', name: 'test-key-1', type: 'API_KEY', value: 'a'.repeat(20) },
      ],
      [
        'GET /usageplans/PLAN/keys?name=test-key',
        undefined,
        200,
        { item: [{ id: 'FIRST', name: 'test-key-1', type: 'API_KEY', value: 'a'.repeat(20) }] },
      ],
      ...['TEST-key', 'nothing'].map((name): Call => [
        `GET /usageplans/PLAN/keys?name=${name}`,
        undefined,
        200,
        { item: [] },
      ]),
    ],
  },
  {
    in: 'test_get_usage_plan_api_keys, 2025-09-26',
    words: 'a key that is deleted is in no plan',
    calls: [
      createKey({ name: 'test-key-1' }),
      ['POST /usageplans/PLAN/keys', { keyId: 'FIRST', keyType: 'API_KEY' }, 201],
      ['DELETE /apikeys/FIRST', undefined, 202],
      ['GET /usageplans/PLAN/keys', undefined, 200, { item: [] }],
    ],
  },
  {
    in: 'test_get_usage_plan_api_keys, 2025-09-26',
    words: 'a plan that does not exist has no keys',
    calls: [['GET /usageplans/bad-id/keys', undefined, 200, { item: [] }]],
  },
];

test.each(keyFacts)('localstack, test_apigateway_extended, $in: $words', async ({ calls, ours }) => {
  const stack = stackOf({});
  const keys = new ApiKeyStore();
  keys.plans = usagePlansOf(stack);
  const state = {
    keys,
    gateway: {
      place: { apiId: stack.only('AWS::ApiGateway::RestApi').id, stage: 'v1' },
      flushAuthorizerCache: () => {},
    },
    saveKeys: async () => {},
  };
  const ids = new Map([['PLAN', stack.only('AWS::ApiGateway::UsagePlan').id]]);
  for (const [index, [request, input, ...recorded]] of calls.entries()) {
    const text = [...ids].reduce(
      (all, [name, id]) => all.replaceAll(name, id),
      JSON.stringify({ request, input }),
    );
    const renamed = JSON.parse(text) as { request: string; input?: object };
    const [method = '', url = ''] = renamed.request.split(' ');
    const [path = '', query] = url.split('?');
    const response = await answerApiGateway(state, {
      method,
      path,
      query: new URLSearchParams(query),
      headers: {},
      body: Buffer.from(renamed.input === undefined ? '' : JSON.stringify(renamed.input)),
    });
    const parsed = JSON.parse(response.body.toString() || 'null') as { id?: string } | null;
    if (request === 'POST /apikeys' && parsed?.id !== undefined) ids.set('FIRST', parsed.id);
    const answer = [...ids].reduce((all, [name, id]) => all.replaceAll(id, name), JSON.stringify(parsed));
    const [status, body] = (index === calls.length - 1 && ours) || recorded;
    expect([request, response.status]).toEqual([request, status]);
    if (body) expect(picked(body, JSON.parse(answer))).toEqual(body);
  }
});
