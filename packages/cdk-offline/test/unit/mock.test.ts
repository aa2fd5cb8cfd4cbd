import { describe, expect, it } from 'vitest';
import { answerMock, mockProperties, readMock } from '../../src/gateway/mock.ts';

/** What the CDK writes for `addCorsPreflight`. */
const preflight = (origins: readonly string[], ResponseTemplates: object = {}) => ({
  RequestTemplates: { 'application/json': '{ statusCode: 200 }' },
  IntegrationResponses: [
    {
      StatusCode: '204',
      ResponseParameters: {
        'method.response.header.Access-Control-Allow-Origin': `'${origins[0]}'`,
        'method.response.header.Access-Control-Allow-Methods': `'OPTIONS,GET'`,
        'method.response.header.X-From-Backend': 'integration.response.header.X',
      },
      ResponseTemplates,
    },
  ],
});

const originTemplate = (test: string) =>
  [
    '#set($origin = $input.params().header.get("Origin"))',
    '#if($origin == "")',
    '  #set($origin = $input.params().header.get("origin"))',
    '#end',
    `#if(${test})`,
    '  #set($context.responseOverride.header.Access-Control-Allow-Origin = $origin)',
    '#end',
  ].join('\n');

function answer(properties: object, headers: Readonly<Record<string, string>> = {}, body = '') {
  const result = answerMock(readMock(mockProperties.parse(properties)), body, {
    context: { requestId: 'id' },
    stageVariables: null,
    header: (name) => headers[name],
    query: () => undefined,
    path: () => undefined,
  });
  if ('error' in result) return { error: [result.error.status, result.error.type] };
  return { ...result, headers: Object.fromEntries(result.headers), body: result.body.toString() };
}

describe('a CORS preflight of the CDK', () => {
  it('has the status of the response and its constant headers', () => {
    expect(answer(preflight(['*']))).toEqual({
      status: 204,
      headers: {
        'Content-Type': 'application/json',
        'Access-Control-Allow-Origin': '*',
        'Access-Control-Allow-Methods': 'OPTIONS,GET',
      },
      body: '',
    });
  });

  it.each([
    ['$origin == "https://b" || $origin == "https://c"', 'https://c', 'https://c'],
    ['$origin == "https://b" || $origin == "https://c"', 'https://d', 'https://a'],
    ['$origin == "https://b"', '', 'https://a'],
    ['$origin.matches("https://.*\\.b") || $origin.matches("c")', 'https://x.b', 'https://x.b'],
    ['$origin.matches("https://b")', 'https://b.evil', 'https://a'],
  ])('allows several origins: %s, asked by %s', (test, origin, allowed) => {
    const properties = preflight(['https://a'], { 'application/json': originTemplate(test) });
    expect(answer(properties, { origin })).toMatchObject({
      body: '',
      headers: { 'Access-Control-Allow-Origin': allowed },
    });
  });
});

// https://docs.aws.amazon.com/apigateway/latest/developerguide/how-to-mock-integration.html
describe('a MOCK integration', () => {
  const RequestTemplates = { 'application/json': '{"statusCode": 404}' };
  const IntegrationResponses = [
    { StatusCode: '200', ResponseTemplates: { 'application/json': '{"ok":true}', 'text/plain': 'ok #1' } },
    { StatusCode: '404', SelectionPattern: '4\\d\\d', ResponseTemplates: { 'application/json': 'gone' } },
  ];

  it('selects the response by the status code, else the default one', () => {
    expect(answer({ RequestTemplates, IntegrationResponses })).toMatchObject({ status: 404, body: 'gone' });
    const other = { 'application/json': '{"statusCode": 201, "message": "x"}' };
    expect(answer({ RequestTemplates: other, IntegrationResponses })).toMatchObject({ status: 200 });
  });

  it('has the body of the accepted media type', () => {
    const properties = {
      RequestTemplates: { 'application/json': '{"statusCode":200}' },
      IntegrationResponses,
    };
    expect(answer(properties, { accept: 'text/plain' })).toMatchObject({
      body: 'ok #1',
      headers: { 'Content-Type': 'text/plain' },
    });
    expect(answer(properties, { accept: 'image/png' })).toMatchObject({ body: '{"ok":true}' });
  });

  it('without a template for the media type of the request takes the status code of its body', () => {
    const text = { 'content-type': 'text/plain' };
    expect(answer({ RequestTemplates, IntegrationResponses }, text, '{"statusCode":200}')).toMatchObject({
      status: 200,
    });
    expect(answer({ RequestTemplates, IntegrationResponses }, text, 'no JSON')).toEqual({
      error: [500, 'DEFAULT_5XX'],
    });
    expect(answer({ RequestTemplates, IntegrationResponses, PassthroughBehavior: 'NEVER' }, text)).toEqual({
      error: [415, 'UNSUPPORTED_MEDIA_TYPE'],
    });
  });

  it('without a response for the status code is misconfigured', () => {
    expect(answer({ RequestTemplates })).toEqual({ error: [500, 'API_CONFIGURATION_ERROR'] });
  });

  it.each([
    { RequestTemplates: { 'application/json': '{"statusCode": $input.params("code")}' } },
    { RequestTemplates: { 'application/json': '#set($a = 1){"statusCode": 200}' } },
    {
      RequestTemplates,
      IntegrationResponses: [{ StatusCode: 200, ResponseTemplates: { 'a/b': '$context.requestId' } }],
    },
    {
      RequestTemplates,
      IntegrationResponses: [{ StatusCode: 200, ResponseTemplates: { 'a/b': '#if(true)x#end' } }],
    },
    preflight(['https://a'], { 'application/json': originTemplate('$origin.length() > 3') }),
  ])('with another template is rejected: %j', (properties) => {
    expect(() => answer(properties)).toThrow(/^the mapping template ".*" is not supported by cdk-offline$/);
  });
});
