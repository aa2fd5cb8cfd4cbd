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

/**
 * The service and operation of an unsigned call of an SDK, such as `cognito-identity-provider (SignUp)`, from its user agent
 * or target.
 *
 * @returns `undefined` when it is no call of an SDK
 */
export function unsignedCall({ headers }: Pick<ManagementRequest, 'headers'>): string | undefined {
  const [, service] = /(?:^|\s)api\/([\w-]+)#/.exec(headers['user-agent'] ?? '') ?? [];
  const [, target, operation] = /^(\w+)\.(\w+)$/.exec(headers['x-amz-target'] ?? '') ?? [];
  const name = service ?? target;
  return name === undefined || operation === undefined ? name : `${name} (${operation})`;
}

/** Refuses a call of a service that is not here. */
export function notSupported(service: string, request: ManagementRequest): HttpResponse {
  const message = `The AWS service ${service} is not supported by cdk-offline, and nothing was sent to AWS`;
  return errorIn(protocolOf(service, request), 'NotSupportedByCdkOffline', message);
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
  return answer === undefined ? notSupported(service, request) : answer(request);
}

/** In a time that does not depend on where they differ. */
function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
