import type { HttpResponse } from '../http-message.ts';
import { errorIn, type ManagementRequest, protocolOf } from './responses.ts';

/** Services of AWS by the name that requests are signed for. */
export type Services = Readonly<
  Record<string, (request: ManagementRequest) => HttpResponse | Promise<HttpResponse>>
>;

/**
 * The service that a request is signed for. The signature itself is not verified.
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

export function answerManagement(
  services: Services,
  service: string,
  request: ManagementRequest,
): HttpResponse | Promise<HttpResponse> {
  const answer = Object.hasOwn(services, service) ? services[service] : undefined;
  if (answer !== undefined) return answer(request);
  const message = `The AWS service ${service} is not supported by cdk-offline, and nothing was sent to AWS`;
  return errorIn(protocolOf(service, request), 'NotSupportedByCdkOffline', message);
}
