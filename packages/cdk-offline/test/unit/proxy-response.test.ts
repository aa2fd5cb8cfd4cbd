import { describe, expect, it } from 'vitest';
import { readProxyResponse } from '../../src/gateway/proxy-response.ts';

const readOrError = (answer: unknown, accept?: string, binary: readonly string[] = []) =>
  readProxyResponse(JSON.stringify(answer), accept, binary);

/** `undefined` when it is malformed. */
function read(...input: Parameters<typeof readOrError>) {
  const response = readOrError(...input);
  return 'error' in response ? undefined : response;
}
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
    [null, 'Invalid input: expected object, received null'],
    ['text', 'Invalid input: expected object, received string'],
    [7, 'Invalid input: expected object, received number'],
    [[], 'Invalid input: expected object, received array'],
    [{}, 'has no member'],
    [{ statusCode: 'test' }, 'statusCode: Invalid input: expected number, received NaN'],
    [{ statusCode: null }, 'statusCode: Too small: expected number to be >=200'],
    [{ statusCode: 99 }, 'statusCode: Too small: expected number to be >=200'],
    [{ statusCode: 600 }, 'statusCode: Too big: expected number to be <=599'],
    [{ statusCode: 200.5 }, 'statusCode: Invalid input: expected int, received number'],
    [{ statusCode: 200, body: { a: 1 } }, 'body: Invalid input: expected string, received object'],
    [{ statusCode: 200, body: 7 }, 'body: Invalid input: expected string, received number'],
    [{ statusCode: 200, other: 'field' }, 'Unrecognized key: "other"'],
    [{ statusCode: 200, headers: { a: ['b'] } }, 'headers.a: must be text, a number or a flag'],
    [{ statusCode: 200, headers: { a: null } }, 'headers.a: must be text, a number or a flag'],
    [{ statusCode: 200, headers: { 'not a name': 'b' } }, 'headers: "not a name" is not a valid header'],
    [{ statusCode: 200, headers: { a: 'two\r\nlines' } }, 'headers: "a" is not a valid header'],
    [
      { statusCode: 200, multiValueHeaders: { a: 'b' } },
      'multiValueHeaders.a: Invalid input: expected array, received string',
    ],
    [{ statusCode: 200, isBase64Encoded: 'yes' }, 'isBase64Encoded: must be true or false'],
  ])('%j is malformed, and the member that is wrong is named: %s', (answer, problem) => {
    expect(readOrError(answer)).toMatchObject({
      error: { type: 'DEFAULT_5XX', status: 502 },
      problem: `Malformed Lambda proxy response: ${problem}`,
    });
  });

  // Trials of the SAM CLI's developers on AWS: https://github.com/aws/aws-sam-cli/pull/2941
  it.each([
    [{ isBase64Encoded: 'true' }, 'text'],
    [{ base64Encoded: true }, 'text'],
    [{ base64Encoded: 'True', isBase64Encoded: false }, 'text'],
    [{ base64Encoded: false, isBase64Encoded: true }, 'dGV4dA=='],
    [{ isBase64Encoded: 'false' }, 'dGV4dA=='],
  ])('the body with %j is %s', (flags, text) => {
    const answer = { statusCode: 200, body: 'dGV4dA==', ...flags };
    expect(read(answer, undefined, ['*/*'])?.body.toString()).toBe(text);
  });

  // https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
  it('an API that has binary media types answers API_CONFIGURATION_ERROR to a body that is not base64', () => {
    for (const body of ['not base64!', 'dGV4d', '{"a":1}']) {
      const answer = { statusCode: 200, isBase64Encoded: true, body };
      expect(readOrError(answer, undefined, ['*/*'])).toMatchObject({
        error: { type: 'API_CONFIGURATION_ERROR', status: 500 },
        problem: 'body: is not valid base64',
      });
      expect(read(answer)?.body.toString()).toBe(body);
    }
    for (const body of ['', 'dGV4dA==', 'dGV4dA', 'dGV4\r\ndA==\r\n']) {
      expect(read({ statusCode: 200, isBase64Encoded: true, body }, undefined, ['*/*'])).toBeDefined();
    }
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
