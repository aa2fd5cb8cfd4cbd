import { timingSafeEqual } from 'node:crypto';
import type { HttpResponse } from '../http/response.ts';
import { errorIn, type ManagementRequest, protocolOf } from './answers.ts';

/** Services of AWS by the name that requests are signed for. */
export type Services = Readonly<
  Record<string, (request: ManagementRequest) => HttpResponse | Promise<HttpResponse>>
>;

/**
 * The service that a request is signed for. The signature is not verified: nobody but its owner sees the session token of a
 * request on the loopback interface, and signed requests are redirected here from other hosts.
 *
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 *
 * @param authorization the value of the Authorization header
 * @returns `undefined` when the request is not signed
 */
export function signedService(authorization: string | undefined): string | undefined {
  return /^AWS4-HMAC-SHA256 .*?Credential=[^/\s]+\/\d{8}\/[^/\s]+\/([^/\s]+)\/aws4_request/.exec(
    authorization ?? '',
  )?.[1];
}

/** @param sessionToken what requests have to carry */
export function answerManagement(
  services: Services,
  sessionToken: string,
  service: string,
  request: ManagementRequest,
): HttpResponse | Promise<HttpResponse> {
  const protocol = protocolOf(service, request);
  if (!isEqual(request.headers['x-amz-security-token'] ?? '', sessionToken)) {
    const name = protocol === 'query' ? 'InvalidClientTokenId' : 'UnrecognizedClientException';
    const message =
      'The call lacks the session token of this run of cdk-offline. Use the credentials of the service.';
    return errorIn(protocol, name, message);
  }
  const answer = Object.hasOwn(services, service) ? services[service] : undefined;
  if (answer !== undefined) return answer(request);
  const message = `The AWS service ${service} is not supported by cdk-offline, and nothing was sent to AWS`;
  return errorIn(protocol, 'NotSupportedByCdkOffline', message);
}

/** In a time that does not depend on where they differ. */
function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
