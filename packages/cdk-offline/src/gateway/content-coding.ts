import { promisify } from 'node:util';
import { deflate, gunzip, gzip, inflate } from 'node:zlib';
import type { HttpResponse } from '../http/response.ts';
import { type GatewayError, gatewayErrors } from './gateway-responses.ts';
import { type GatewayRequest, values } from './request.ts';

const codings = new Map([
  ['gzip', { encode: promisify(gzip), decode: promisify(gunzip) }],
  ['deflate', { encode: promisify(deflate), decode: promisify(inflate) }],
]);

/**
 * The body without its content coding. API Gateway decodes it whatever `minimumCompressionSize` says, and leaves the header
 * as it is.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-make-request-with-compressed-payload.html
 */
export async function decodedBody(
  { headers, body }: Pick<GatewayRequest, 'headers' | 'body'>,
  largest: number,
): Promise<Buffer | GatewayError> {
  if (body.length > largest) return gatewayErrors.requestTooLarge;
  const name = values(headers, 'content-encoding').join().trim().toLowerCase();
  if (body.length === 0 || name === '' || name === 'identity') return body;
  const coding = codings.get(name);
  try {
    return (await coding?.decode(body, { maxOutputLength: largest })) ?? gatewayErrors.unsupportedMediaType;
  } catch (error) {
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    return isTooLarge ? gatewayErrors.requestTooLarge : gatewayErrors.unsupportedMediaType;
  }
}

/**
 * The response of an integration, compressed if the API and the client ask for it and the integration has not done it.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-receive-response-with-compressed-payload.html
 */
export async function compressed(
  response: HttpResponse,
  { headers }: Pick<GatewayRequest, 'headers'>,
  minimumSize: number,
): Promise<HttpResponse> {
  const { body } = response;
  const name = preferredCoding(values(headers, 'accept-encoding').join());
  const coding = codings.get(name ?? '');
  const isEncoded = values(response.headers, 'content-encoding').length > 0;
  if (name === undefined || coding === undefined || isEncoded) return response;
  if (body.length === 0 || body.length < minimumSize) return response;
  return {
    ...response,
    headers: [...response.headers, ['Content-Encoding', name]],
    body: await coding.encode(body),
  };
}

/** "The highest-priority content encoding must be one supported by API Gateway"; of equal ones the first. */
function preferredCoding(accept: string): string | undefined {
  const weighted = accept.split(',').map((entry) => {
    const [name = '', ...parameters] = entry.toLowerCase().split(';');
    const weight = parameters.map((parameter) => /^\s*q\s*=\s*([\d.]+)\s*$/.exec(parameter)?.[1]).at(-1);
    return { name: name.trim(), weight: Number(weight ?? 1) };
  });
  return weighted
    .filter(({ weight }) => weight > 0)
    .toSorted((one, other) => other.weight - one.weight)
    .at(0)?.name;
}
