import { describe, expect, it } from 'vitest';
import {
  type IncomingRequest,
  lastValue,
  parseQuery,
  toGatewayRequest,
  values,
} from '../../src/gateway/request.ts';

function received(changes: Partial<IncomingRequest> = {}) {
  const incoming: IncomingRequest = {
    method: 'GET',
    url: '/v1/things',
    rawHeaders: [],
    body: Buffer.alloc(0),
    sourceIp: '127.0.0.1',
    port: 3000,
    httpVersion: '1.1',
    ...changes,
  };
  return toGatewayRequest(incoming, 'v1', 1_700_000_000_000, 0);
}

describe('a request', () => {
  it.each([
    ['/v1', '/', '/v1'],
    ['/v1/', '/', '/v1/'],
    ['/v1/things/?a=b', '/things/', '/v1/things/'],
    ['/v1/a%2Fb?x?y', '/a%2Fb', '/v1/a%2Fb'],
    ['//v1//things', '/things', '/v1//things'],
  ])('%s has the path %s, and with its stage %s', (url, path, fullPath) => {
    expect(received({ url })).toMatchObject({ path, fullPath });
  });

  it.each([
    [
      'a=1&a=2&b',
      [
        ['a', '1'],
        ['a', '2'],
        ['b', ''],
      ],
    ],
    ['x=foo+bar%20baz', [['x', 'foo bar baz']]],
    ['x=a%2Bb', [['x', 'a+b']]],
    ['x=a=b', [['x', 'a=b']]],
    [
      'x=1;y=2',
      [
        ['x', '1'],
        ['y', '2'],
      ],
    ],
    ['x=%zz', [['x', '%zz']]],
    ['%C3%A4=%C3%B6', [['ä', 'ö']]],
    ['&&', []],
    ['=v', [['', 'v']]],
  ])('the query %s is parsed as %j', (query, expected) => {
    expect(parseQuery(query)).toEqual(expected);
  });

  it('keeps the case of header names, drops connection headers and adds X-Forwarded headers', () => {
    const { headers } = received({
      rawHeaders: [
        'X-cUsTom',
        'a',
        'Connection',
        'close',
        'Content-Length',
        '3',
        'Expect',
        '100-continue',
        'TE',
        'x',
      ],
    });
    expect(Object.fromEntries(headers)).toEqual({
      'X-cUsTom': 'a',
      'X-Amzn-Trace-Id': expect.stringMatching(/^Root=1-6553f100-[0-9a-f]{24}$/),
      'X-Forwarded-For': '127.0.0.1',
      'X-Forwarded-Port': '3000',
      'X-Forwarded-Proto': 'http',
    });
  });

  it('overwrites X-Forwarded headers sent by the client', () => {
    const { headers } = received({
      rawHeaders: ['x-forwarded-for', '10.0.0.1', 'x-forwarded-proto', 'https', 'X-Forwarded-Port', '443'],
    });
    expect(values(headers, 'X-Forwarded-For')).toEqual(['10.0.0.1, 127.0.0.1']);
    expect(values(headers, 'X-Forwarded-Proto')).toEqual(['http']);
    expect(values(headers, 'X-Forwarded-Port')).toEqual(['3000']);
  });

  it('uses the last of several headers with the same name', () => {
    const { headers } = received({ rawHeaders: ['Authorization', 'first', 'authorization', 'second'] });
    expect(values(headers, 'AUTHORIZATION')).toEqual(['first', 'second']);
    expect(lastValue(headers, 'authorization')).toBe('second');
    expect(lastValue(headers, 'other')).toBeUndefined();
  });

  it('has the method that X-HTTP-Method-Override names', () => {
    expect(received({ method: 'POST', rawHeaders: ['X-HTTP-Method-Override', 'delete'] }).method).toBe(
      'DELETE',
    );
  });
});
