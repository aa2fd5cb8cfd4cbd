import { describe, expect, it } from 'vitest';
import { greetingTemplate, serveGreeting } from './greeting.ts';
import { arnOf, gatewayResponse, method } from './template.ts';

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-method-request-validation.html */

const RestApiId = { Ref: 'Api' };
const model = (Schema: object, more: object = {}) => ({
  Type: 'AWS::ApiGateway::Model',
  Properties: { RestApiId, ContentType: 'application/json', Schema, ...more },
});
const $schema = 'http://json-schema.org/draft-04/schema#';
const urlOf = (name: string | object) => ({
  'Fn::Join': ['', ['https://apigateway.amazonaws.com/restapis/', RestApiId, '/models/', name]],
});

/** The API of an app with a validator: POST with a model that refers to another one, GET with parameters. */
function template({ checks = {}, changes = {}, schema = {} } = {}): object {
  const RequestValidatorId = { Ref: 'Validator' };
  const post = { RequestValidatorId, RequestModels: { 'application/json': { Ref: 'Order' } } };
  const get = {
    RequestValidatorId,
    RequestParameters: {
      'method.request.querystring.page': true,
      'method.request.header.X-Team': true,
      'method.request.querystring.size': false,
    },
  };
  const properties = { name: { type: 'string', minLength: 2 }, item: { $ref: urlOf({ Ref: 'Item' }) } };
  return greetingTemplate({
    Validator: {
      Type: 'AWS::ApiGateway::RequestValidator',
      Properties: { RestApiId, ValidateRequestBody: true, ValidateRequestParameters: true, ...checks },
    },
    Order: model({ $schema, type: 'object', required: ['name'], properties, ...schema }),
    Item: model({ $schema, type: 'object', properties: { count: { minimum: 0, exclusiveMinimum: true } } }),
    Post: method({ Ref: 'Path' }, arnOf('Greet'), post, 'POST'),
    Get: method({ Ref: 'Path' }, arnOf('Greet'), get),
    ...changes,
  });
}

describe('a request validator', () => {
  it.each([
    ['{"name":"Rex"}', 200],
    ['{"name":"Rex","item":{"count":1},"more":1}', 200],
    ['{"name":"R"}', 400],
    ['{"name":"Rex","item":{"count":0}}', 400],
    ['[]', 400],
    ['{"name":', 400],
    ['', 400],
  ])('checks the body against the model: %s is answered with %i', async (body, status) => {
    const { get } = await serveGreeting(template());
    for (const _again of [1, 2]) {
      const headers = { 'content-type': 'application/json; charset=utf-8' };
      const response = await get('/greet', { method: 'POST', body, headers });
      expect(response.status).toBe(status);
      if (status === 200) continue;
      expect(response.headers.get('x-amzn-errortype')).toBe('BadRequestException');
      expect(await response.json()).toEqual({ message: 'Invalid request body' });
    }
  });

  it('does not check a body of a type without a model, nor any when it is told not to', async () => {
    const send = { method: 'POST', body: 'no', headers: { 'content-type': 'text/plain' } };
    const { get } = await serveGreeting(template());
    expect((await get('/greet', send)).status).toBe(200);
    const off = await serveGreeting(template({ checks: { ValidateRequestBody: false } }));
    expect((await off.get('/greet', { ...send, headers: {} })).status).toBe(200);
    const post = { RequestValidatorId: { Ref: 'Validator' }, RequestModels: { $default: { Ref: 'Order' } } };
    const Post = method({ Ref: 'Path' }, arnOf('Greet'), post, 'POST');
    const every = await serveGreeting(template({ changes: { Post } }));
    expect((await every.get('/greet', send)).status).toBe(400);
  });

  it('wants the required parameters, not blank, and names those that are missing', async () => {
    const { get } = await serveGreeting(template());
    expect((await get('/greet?page=1', { headers: { 'X-Team': 'a' } })).status).toBe(200);
    const missing = await get('/greet?page=');
    expect(missing.status).toBe(400);
    expect(await missing.json()).toEqual({ message: 'Missing required request parameters: [X-Team, page]' });
    const off = await serveGreeting(template({ checks: { ValidateRequestParameters: false } }));
    expect((await off.get()).status).toBe(200);
  });

  it('answers with the gateway responses of the template, which can say why', async () => {
    const changes = {
      Body: gatewayResponse('BAD_REQUEST_BODY', {
        StatusCode: '422',
        ResponseTemplates: { 'application/json': '{"why":"$context.error.validationErrorString"}' },
      }),
      Parameters: gatewayResponse('BAD_REQUEST_PARAMETERS', { StatusCode: '418' }),
    };
    const { get } = await serveGreeting(template({ changes }));
    const headers = { 'content-type': 'application/json' };
    const body = await get('/greet', { method: 'POST', body: '{"name":"R"}', headers });
    expect(body.status).toBe(422);
    expect(await body.json()).toEqual({ why: '[/name must NOT have fewer than 2 characters]' });
    expect((await get()).status).toBe(418);
  });

  it.each([
    ['a schema that cannot be used', { $ref: '#/nowhere' }, /the model \w+ is not supported by cdk-offline/],
    ['a pattern that is no expression', { pattern: '(' }, /Invalid regular expression/],
  ])('whose model has %s makes the route answer 501', async (_, schema, reason) => {
    const { get, progress } = await serveGreeting(template({ schema }));
    expect((await get('/greet', { method: 'POST' })).status).toBe(501);
    expect(progress).toEqual([expect.stringMatching(reason)]);
  });

  it('takes built-in models, names of models and draft 7', async () => {
    const post = (RequestModels: object) => ({
      Post: method(
        { Ref: 'Path' },
        arnOf('Greet'),
        { RequestValidatorId: { Ref: 'Validator' }, RequestModels },
        'POST',
      ),
    });
    const send = (value: unknown) => ({
      method: 'POST',
      body: JSON.stringify(value),
      headers: { 'content-type': 'application/json' },
    });
    const empty = await serveGreeting(template({ changes: post({ 'application/json': 'Empty' }) }));
    expect((await empty.get('/greet', send([1]))).status).toBe(200);
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      properties: { a: { exclusiveMinimum: 5 } },
    };
    const changes = { ...post({ 'application/json': 'New' }), New: model(schema, { Name: 'New' }) };
    const { get } = await serveGreeting(template({ changes }));
    expect((await get('/greet', send({ a: 6 }))).status).toBe(200);
    expect((await get('/greet', send({ a: 5 }))).status).toBe(400);
  });
});
