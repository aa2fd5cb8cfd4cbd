import { ServiceError } from './errors.ts';
import type { ApiRequest } from './request.ts';

/** The quotes of a quoted string (IETF draft) are part of the key. */
export const idempotencyKeys = { maxLength: 255, pattern: /^[ -~]+$/ } as const;

/** The `Idempotency-Key` of a request (draft-ietf-httpapi-idempotency-key-header). @throws ServiceError invalid_request */
export function parseIdempotencyKey({ headers }: ApiRequest): string | undefined {
  const values = headers.get('idempotency-key');
  if (values === undefined) return undefined;
  const [value = ''] = values;
  if (values.length > 1) {
    throw new ServiceError('invalid_request', 'Idempotency-Key: must be sent only once');
  }
  if (value.length > idempotencyKeys.maxLength || !idempotencyKeys.pattern.test(value)) {
    throw new ServiceError('invalid_request', 'Idempotency-Key: must be 1 to 255 printable ASCII characters');
  }
  return value;
}
