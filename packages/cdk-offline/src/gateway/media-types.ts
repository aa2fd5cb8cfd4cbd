/**
 * Whether a body of the given media type is binary to the API.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-payload-encodings.html
 *
 * @param header the value of Content-Type or Accept; of several media types only the first counts
 */
export function isBinary(header: string | undefined, binaryMediaTypes: readonly string[]): boolean {
  const mediaType = header?.split(/[,;]/, 1)[0]?.trim().toLowerCase();
  return binaryMediaTypes.some((type) => {
    const binary = type.replaceAll('~1', '/').toLowerCase();
    if (binary === '*/*') return true;
    return binary.endsWith('/*') ? mediaType?.startsWith(binary.slice(0, -1)) === true : mediaType === binary;
  });
}
