import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { parseRequest } from '../../../functions/http/request.ts';
import { domainName, freeCaller as caller, proxyEvent } from '../../support/events.ts';

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
