import { type ApiError, type ErrorCode, toApiError } from './errors.ts';
import { parseJson } from './exact-json.ts';
import { readRetryAfter } from './headers.ts';

/** Statuses of an address that is not the service's: API Gateway answers 403 to one without the stage. */
const wrongAddressStatuses = new Set([403, 404, 405]);

/** The error of an answer that is not a success. */
export function failureOf(response: Response, text: string, baseUrl: string): ApiError {
  const { status, headers } = response;
  const [code, message] = readFailure(response, text, baseUrl);
  return toApiError(code, message, {
    status,
    headers,
    retryAfter: readRetryAfter(headers.get('Retry-After'), Date.now()),
  });
}

function readFailure(
  { status, type, headers }: Response,
  text: string,
  baseUrl: string,
): [ErrorCode, string] {
  // Browsers hide the status and the headers of a redirect.
  if (type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    const target = headers.get('Location') ?? 'another address';
    return ['unexpected_redirect', `The answer is a redirect to ${target}. ${addressHint(baseUrl)}`];
  }
  const { code, message } = readErrorBody(text);
  const isOfService = code !== undefined && message !== undefined;
  // Below an address that ends in `/pets`, a list is an animal that does not exist.
  const isWrongAddress = !isOfService || code === 'route_not_found' || baseUrl.endsWith('/pets');
  const hint = isWrongAddress && wrongAddressStatuses.has(status) ? ` ${addressHint(baseUrl)}` : '';
  if (isOfService) return [code, message + hint];
  const words = message === undefined ? '' : ` (${JSON.stringify(message)})`;
  return ['unknown_error', `The answer has status ${status} and no error of the service${words}.${hint}`];
}

export function addressHint(baseUrl: string): string {
  return `Check the base address ${baseUrl}: it ends in the version, such as /v1.`;
}

/** The service's own error has both; API Gateway's has a message only. */
function readErrorBody(text: string): { readonly code?: string; readonly message?: string } {
  let body: unknown;
  try {
    body = parseJson(text);
  } catch {
    return {};
  }
  if (typeof body !== 'object' || body === null) return {};
  const { code, message } = body as Partial<Record<'code' | 'message', unknown>>;
  return {
    ...(typeof code === 'string' && { code }),
    ...(typeof message === 'string' && { message }),
  };
}
