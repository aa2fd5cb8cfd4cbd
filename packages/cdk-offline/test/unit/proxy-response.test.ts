import { describe, expect, it } from 'vitest';
import { readProxyResponse } from '../../src/gateway/proxy-response.ts';

const read = (answer: unknown, accept?: string, binary: readonly string[] = []) =>
  readProxyResponse(JSON.stringify(answer), accept, binary);
const headersOf = (answer: unknown) => read(answer)?.headers;

describe('a function’s answer', () => {
  it('has status, headers and body, and is JSON by default', () => {
    expect(read({ statusCode: 201, headers: { 'X-A': 'b' }, body: 'text' })).toEqual({
      status: 201,
      headers: [
        ['Content-Type', 'application/json'],
        ['X-A', 'b'],
      ],
      body: Buffer.from('text'),
    });
    expect(headersOf({ statusCode: 200, headers: { 'content-type': 'text/plain' } })).toEqual([
      ['content-type', 'text/plain'],
    ]);
  });

  it.each([
    [{ statusCode: '202' }, 202],
    [{ headers: { a: 'b' } }, 200],
    [{ statusCode: 200, body: null, headers: null, multiValueHeaders: null }, 200],
    [{ statusCode: 200, headers: { truth: true, number: 7 } }, 200],
  ])('%j is valid', (answer, status) => {
    expect(read(answer)?.status).toBe(status);
  });

  it.each([
    null,
    'text',
    7,
    [],
    {},
    { statusCode: 'test' },
    { statusCode: null },
    { statusCode: 99 },
    { statusCode: 600 },
    { statusCode: 200.5 },
    { statusCode: 200, body: { a: 1 } },
    { statusCode: 200, body: 7 },
    { statusCode: 200, other: 'field' },
    { statusCode: 200, headers: { a: ['b'] } },
    { statusCode: 200, headers: { a: null } },
    { statusCode: 200, headers: { 'not a name': 'b' } },
    { statusCode: 200, headers: { a: 'two\r\nlines' } },
    { statusCode: 200, multiValueHeaders: { a: 'b' } },
    { statusCode: 200, isBase64Encoded: 'true' },
  ])('%j is malformed', (answer) => {
    expect(read(answer)).toBeUndefined();
  });

  // https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html#api-gateway-simple-proxy-for-lambda-output-format
  it('a header in both headers and multiValueHeaders: the multi values first (recorded on AWS by LocalStack), a repeated pair once', () => {
    const answer = {
      statusCode: 200,
      headers: { 'content-type': 'a/b', 'set-cookie': 'zero', 'X-Both': 'same' },
      multiValueHeaders: { 'Set-Cookie': ['one', 'two'], 'x-both': ['same', 'other'] },
    };
    expect(headersOf(answer)).toEqual([
      ['Set-Cookie', 'one'],
      ['Set-Cookie', 'two'],
      ['x-both', 'same'],
      ['x-both', 'other'],
      ['content-type', 'a/b'],
      ['set-cookie', 'zero'],
    ]);
  });

  it('renames or drops the headers that API Gateway reserves', () => {
    const headers = {
      'content-type': 'a/b',
      'WWW-Authenticate': 'Bearer',
      date: 'x',
      Server: 'mine',
      connection: 'close',
      'user-agent': 'me',
      'Content-Length': '7',
      Host: 'there',
      'Transfer-Encoding': 'chunked',
      Via: 'x',
    };
    expect(headersOf({ statusCode: 200, headers })).toEqual([
      ['content-type', 'a/b'],
      ['x-amzn-Remapped-WWW-Authenticate', 'Bearer'],
      ['x-amzn-Remapped-date', 'x'],
      ['x-amzn-Remapped-Server', 'mine'],
      ['x-amzn-Remapped-connection', 'close'],
      ['x-amzn-Remapped-user-agent', 'me'],
    ]);
  });

  it.each([
    ['image/png', ['image/png'], 'decoded'],
    ['image/webp, image/png', ['image/png'], 'as it is'],
    ['image/png;q=1', ['image/*'], 'decoded'],
    [undefined, ['image/png'], 'as it is'],
    [undefined, ['*/*'], 'decoded'],
    ['text/plain', ['*~1*'], 'decoded'],
    ['image/png', [], 'as it is'],
  ])('a base64 body for Accept %s and the binary media types %j: %s', (accept, binary, how) => {
    const body = Buffer.from([0, 255, 1]);
    const answer = { statusCode: 200, isBase64Encoded: true, body: body.toString('base64') };
    expect(read(answer, accept, binary)?.body).toEqual(how === 'decoded' ? body : Buffer.from('AP8B'));
  });
});
