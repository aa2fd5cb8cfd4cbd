import { gzipSync } from 'node:zlib';
import { type Fact, throws } from './fact.ts';

/** What a function gets, and what it can answer. The functions of these tests return what they are given. */

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
const serverError = { status: 502, body: { message: 'Internal server error' } };
const encoded = Buffer.from('test-data').toString('base64');
const trace = 'Root=1-3152b799-8954dae64eda91bc9a23a7e8';

export const factsOfFunctions: readonly Fact[] = [
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
  ...['test-multi', 'tesT-Multi'].map((name) => ({
    ...formats,
    words: `an answer with a header in both members, ${name} in the one for several values`,
    answers: {
      statusCode: 200,
      multiValueHeaders: { [name]: ['value-multi'] },
      headers: { 'test-multi': 'value-solo' },
    },
    recorded: { headers: { 'test-multi': 'value-multi, value-solo' } },
  })),
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
];
