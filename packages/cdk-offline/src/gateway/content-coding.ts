import { promisify } from 'node:util';
import { gunzip, inflate } from 'node:zlib';
import { type GatewayError, gatewayErrors } from './gateway-responses.ts';
import { type GatewayRequest, values } from './request.ts';

const decoders = new Map([
  ['gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
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
  const coding = values(headers, 'content-encoding').join().trim().toLowerCase();
  if (body.length === 0 || coding === '' || coding === 'identity') return body;
  const decode = decoders.get(coding);
  try {
    return (await decode?.(body, { maxOutputLength: largest })) ?? gatewayErrors.unsupportedMediaType;
  } catch (error) {
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    return isTooLarge ? gatewayErrors.requestTooLarge : gatewayErrors.unsupportedMediaType;
  }
}
