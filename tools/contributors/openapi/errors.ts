import {
  type ErrorCode,
  errorBody,
  errorCatalogue,
  gatewayErrors,
  maxBodyInWords,
} from '../../../functions/http/errors.ts';
import { isIdempotent, type Operation } from '../../../functions/operations.ts';
import { bodies } from './bodies.ts';
import type { Description } from './operations.ts';

// The errors: what docs/openapi.yaml and docs/api.md say of each beside its message, and which operations answer it.

/** What a client does about each error, in Markdown for docs/api.md. */
export const advice: Readonly<Record<ErrorCode, { readonly retry: string; readonly text: string }>> = {
  invalid_request: { retry: 'no', text: 'Correct the request as `message` says.' },
  unauthorized: {
    retry: 'only a new key',
    text: 'Check the key and the base URL. The key may have been replaced or revoked: ask the operator.',
  },
  pet_not_found: { retry: 'no', text: 'The animal does not exist.' },
  route_not_found: { retry: 'no', text: 'Check the base URL: it ends in `/v1`.' },
  method_not_allowed: { retry: 'no', text: 'Use a method that the `Allow` header lists.' },
  payload_too_large: { retry: 'no', text: `Send at most ${maxBodyInWords}.` },
  unsupported_media_type: {
    retry: 'no',
    text: 'Send `Content-Type: application/json`. Compress with `gzip` or `deflate`, or not at all.',
  },
  idempotency_key_reused: { retry: 'no', text: 'Use a new `Idempotency-Key` for each new animal.' },
  rate_limit_exceeded: { retry: 'yes', text: '[Back off](#back-off-after-a-429).' },
  key_suspended: {
    retry: 'yes',
    text: 'Wait for `Retry-After`. [Why keys are suspended](#when-a-key-is-suspended)',
  },
  internal_error: { retry: 'yes', text: 'Retry a few times. If it stays, report it.' },
  service_unavailable: {
    retry: 'yes',
    text: 'Wait for `Retry-After`, then [retry safely](#retry-safely): a creation may have been stored.',
  },
};

/** In the order of their statuses. */
export const allErrors = Object.keys(errorCatalogue) as readonly ErrorCode[];

/** The errors that an operation can answer. */
export function errorsOf(operation: Operation, { request, errors = [] }: Description): readonly ErrorCode[] {
  const found = new Set<ErrorCode>([...gatewayErrors, 'key_suspended', ...errors]);
  found.delete('route_not_found');
  if (request === undefined) found.delete('unsupported_media_type');
  else found.add('payload_too_large');
  if (isIdempotent(operation)) found.add('idempotency_key_reused');
  return allErrors.filter((code) => found.has(code));
}

/** The 400 of an operation without invalid requests. */
export const rejectedByGateway =
  'API Gateway rejected the request, for instance because its URL is too long.';

/** What a status means for this operation alone. */
export function ownMeaningOf(
  status: number,
  { unavailable }: Operation,
  { parameters, request }: Description,
): string | undefined {
  const takesQuery = Object.values(parameters).some((parameter) => parameter.in === 'query');
  if (status === 400 && !takesQuery && request === undefined) return rejectedByGateway;
  return status === 503 ? unavailable : undefined;
}

/** What an error means, and its body. The message of an invalid request is that of its fields. */
export function exampleOf(code: ErrorCode): { readonly meaning: string; readonly body: object } {
  const { code: invalid, message, status } = bodies.Error.fields;
  return code === invalid.sample
    ? {
        meaning: 'A required field is missing, or a value is invalid. The message names every invalid field.',
        body: { code, message: message.sample, status: status.sample },
      }
    : { meaning: errorCatalogue[code].message, body: errorBody(code) };
}
