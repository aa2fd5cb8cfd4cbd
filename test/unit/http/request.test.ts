import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { parseRequest } from '../../../functions/http/request.ts';
import { domainName, freeCaller as caller, type HttpRequest, proxyEvent } from '../../support/events.ts';

const read = (request: Partial<HttpRequest>) =>
  parseRequest(proxyEvent({ resource: '/pets', caller, ...request }));

describe('a request', () => {
  test('is read from the event of API Gateway’s proxy integration', () => {
    const event = proxyEvent({
      method: 'GET',
      resource: '/pets/{petId}',
      path: '/pets/7',
      pathParameters: { petId: '7' },
      caller,
    });
    expect(parseRequest(event)).toMatchObject({
      requestId: event.requestContext.requestId,
      resource: '/pets/{petId}',
      pathParameters: { petId: '7' },
      url: `https://${domainName}/v1/pets/7`,
      caller: { keyId: 'key_1', plan: 'free', limits: { perMinute: 60, perDay: 1_000 } },
    });
  });

  test.each([
    ['%37', '7'],
    ['caf%C3%A9', 'café'],
    ['1%2F2', '1/2'],
    ['7', '7'],
    ['100%', '100%'],
    ['%zz', '%zz'],
    ['%E9', '%E9'],
  ])('with the path parameter %s has %s', (sent, expected) => {
    const event = proxyEvent({ resource: '/pets/{petId}', pathParameters: { petId: sent }, caller });
    expect(parseRequest(event).pathParameters).toEqual({ petId: expected });
  });

  test('has every value of each query parameter', () => {
    const sent = [
      ['limit', '1'],
      ['status', 'sold'],
      ['limit', '2'],
    ] as const;
    const { query } = read({ query: sent });
    expect(Object.fromEntries(query)).toEqual({ limit: ['1', '2'], status: ['sold'] });
  });

  test('has every value of each header, whatever the case of its name', () => {
    const { headers } = read({
      headers: [
        ['Content-Type', 'application/json'],
        ['X-Twice', 'a'],
        ['X-Twice', 'b'],
        ['content-type', 'text/plain'],
      ],
    });
    expect(headers.get('x-twice')).toEqual(['a', 'b']);
    expect(headers.get('content-type')).toEqual(['application/json', 'text/plain']);
  });

  test.each([
    ['text', '{"name":"Müsli"}'],
    ['base64', Buffer.from('{"name":"Müsli"}')],
  ])('that comes as %s has the bytes of its body', (_encoding, body) => {
    expect(read({ body }).body.toString('utf8')).toBe('{"name":"Müsli"}');
  });

  test('without a body, query and path parameters has none of them', () => {
    const { body, query, pathParameters } = read({});
    expect([body.byteLength, query.size, Object.keys(pathParameters).length]).toEqual([0, 0, 0]);
  });

  test('has an http URL only if API Gateway says so', () => {
    const event = proxyEvent({ resource: '/pets', caller });
    expect(parseRequest({ ...event, multiValueHeaders: { 'X-Forwarded-Proto': ['http'] } }).url).toMatch(
      /^http:/,
    );
    // API Gateway adds its value after those of the client.
    for (const [client, gateway] of [
      ['http', 'https'],
      ['https', 'http'],
    ] as const) {
      const multiValueHeaders = { 'X-Forwarded-Proto': [client, gateway] };
      expect(new URL(parseRequest({ ...event, multiValueHeaders }).url).protocol).toBe(`${gateway}:`);
    }
    expect(parseRequest({ ...event, multiValueHeaders: {} }).url).toMatch(/^https:/);
    expect(parseRequest({ ...event, multiValueHeaders: { 'X-Forwarded-Proto': ['ftp'] } }).url).toMatch(
      /^https:/,
    );
  });

  test('that did not pass the authorizer is rejected', () => {
    const event = proxyEvent({ resource: '/pets', caller });
    for (const authorizer of [undefined, null, {}, { principalId: 'user' }]) {
      const unauthorized = { ...event, requestContext: { ...event.requestContext, authorizer } };
      expect(() => parseRequest(unauthorized)).toThrow(z.core.$ZodError);
    }
  });

  test.each([undefined, null, 7, 'GET /pets', {}])('%j is rejected', (event) => {
    expect(() => parseRequest(event as never)).toThrow(TypeError);
  });
});
