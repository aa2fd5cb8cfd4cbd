import { brotliDecompressSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { requestLocally } from '../../src/http/loopback.ts';
import { gatewayResponse } from './template.ts';
import { greetingTemplate, serveGreeting } from './greeting.ts';

/**
 * Compressed responses, as AWS documents them.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-receive-response-with-compressed-payload.html
 */

const api = (properties: object) => ({
  Api: { Type: 'AWS::ApiGateway::RestApi', Properties: { Name: 'greeting', ...properties } },
});

const decoders = { gzip: gunzipSync, deflate: inflateSync, br: brotliDecompressSync };

/** The answer with its coding and its decoded text. */
async function ask(url: string, acceptEncoding: string | undefined, headers: Record<string, string> = {}) {
  const sent = acceptEncoding === undefined ? headers : { 'Accept-Encoding': acceptEncoding, ...headers };
  const answer = await requestLocally(url, 5_000, { headers: sent });
  const { 'content-encoding': coding, ...others } = Object.fromEntries(answer.headers);
  const decode = decoders[coding as keyof typeof decoders] ?? ((body: Buffer) => body);
  return {
    status: answer.status,
    coding,
    text: decode(answer.body).toString(),
    headers: others,
    size: answer.body.length,
  };
}

/** Answers with the text of the query `text`, or what `answer` says. */
const code = `export const handler = async ({ queryStringParameters: query }) => ({
  statusCode: 200,
  headers: { 'X-Kept': 'kept', 'Access-Control-Allow-Origin': '*' },
  body: query.text,
  ...JSON.parse(query.answer ?? '{}'),
});`;

async function serveCompressed(properties: object, resources = {}) {
  const { service, progress } = await serveGreeting(greetingTemplate({ ...api(properties), ...resources }), {
    code,
  });
  expect(progress).toEqual([]);
  const url = (query: Record<string, string>) =>
    `${service.url}/greet?${new URLSearchParams(query).toString()}`;
  return { url, base: service.url };
}

describe('with MinimumCompressionSize', () => {
  it('a response is compressed from that size on, in the coding that the client prefers', async () => {
    const { url } = await serveCompressed({ MinimumCompressionSize: 100 });
    const long = 'x'.repeat(100);
    for (const [acceptEncoding, coding] of [
      ['gzip', 'gzip'],
      ['GZIP', 'gzip'],
      ['deflate', 'deflate'],
      ['gzip, deflate, br, zstd', 'gzip'],
      ['deflate, gzip, br', 'deflate'],
      ['deflate;q=0.5, gzip;q=1.0', 'gzip'],
      ['gzip;q=1.0,identity;q=0.5,*;q=0', 'gzip'],
      // The coding with the highest priority must be one of API Gateway's.
      ['br;q=1.0, gzip;q=0.8', undefined],
      ['identity, gzip;q=0.5', undefined],
      ['gzip;q=0', undefined],
      ['*', undefined],
      ['', undefined],
      [undefined, undefined],
    ] as const) {
      const answer = await ask(url({ text: long }), acceptEncoding);
      expect({ acceptEncoding, coding: answer.coding, text: answer.text }).toEqual({
        acceptEncoding,
        coding,
        text: long,
      });
    }
    expect((await ask(url({ text: long.slice(1) }), 'gzip')).coding).toBeUndefined();
  });

  it('the other headers stay, and Content-Length is that of the compressed body', async () => {
    const { url } = await serveCompressed({ MinimumCompressionSize: 1000 });
    const query = { text: 'x'.repeat(5000) };
    const plain = await ask(url(query), undefined);
    const compressed = await ask(url(query), 'gzip');
    expect(plain.headers['content-length']).toBe('5000');
    expect(compressed.headers['content-length']).toBe(String(compressed.size));
    expect(compressed.size).toBeLessThan(200);
    expect(Object.keys(compressed.headers)).toEqual(Object.keys(plain.headers));
    expect(compressed.headers).toMatchObject({ 'x-kept': 'kept', 'access-control-allow-origin': '*' });
  });

  it('a response that has a Content-Encoding stays as it is', async () => {
    const { url } = await serveCompressed({ MinimumCompressionSize: 0, BinaryMediaTypes: ['*/*'] });
    const body = gzipSync('own').toString('base64');
    const answer = { isBase64Encoded: true, headers: { 'Content-Encoding': 'gzip' }, body };
    const { coding, text } = await ask(url({ answer: JSON.stringify(answer) }), 'deflate');
    expect({ coding, text }).toEqual({ coding: 'gzip', text: 'own' });
  });

  it('a binary body is decoded first, and an empty one is not compressed', async () => {
    const { url } = await serveCompressed({ MinimumCompressionSize: 0, BinaryMediaTypes: ['image/png'] });
    const png = JSON.stringify({ isBase64Encoded: true, body: Buffer.from('image').toString('base64') });
    expect(await ask(url({ answer: png }), 'gzip', { Accept: 'image/png' })).toMatchObject({
      coding: 'gzip',
      text: 'image',
    });
    expect((await ask(url({ text: '' }), 'gzip')).coding).toBeUndefined();
  });

  it('answers of the gateway itself are not compressed', async () => {
    const { base } = await serveCompressed(
      { MinimumCompressionSize: 0 },
      { Missing: gatewayResponse('MISSING_AUTHENTICATION_TOKEN', {}) },
    );
    const { status, coding, text } = await ask(`${base}/unknown`, 'gzip');
    expect({ status, coding, text }).toEqual({
      status: 403,
      coding: undefined,
      text: '{"message":"Missing Authentication Token"}',
    });
  });
});

it('without MinimumCompressionSize no response is compressed', async () => {
  const { url } = await serveCompressed({});
  expect((await ask(url({ text: 'x'.repeat(5000) }), 'gzip')).coding).toBeUndefined();
});
