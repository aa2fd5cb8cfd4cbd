import { type RequestRecord, terminalLog } from 'cdk-offline';
import { z } from 'zod';

const identity = z.object({ plan: z.string().default(''), principalId: z.string().default('') });

/** What `serve` reports of requests and functions, for a terminal. */
export function requestLog(options: { readonly quiet?: boolean; readonly json?: boolean }) {
  const log = terminalLog({
    ...options,
    caller: (authorizer) => {
      const { plan, principalId } = identity.parse(authorizer);
      return `${plan} ${principalId}`.trim();
    },
    // The record of a request or of an authorization.
    isRepetition: ({ operation, message }) =>
      operation !== undefined || (typeof message === 'object' && message !== null && 'operation' in message),
  });
  return { ...log, onRequest: (record: RequestRecord) => log.onRequest(withoutKeyHash(record)) };
}

/** No log may contain the hash of a key (docs/security.md#api-keys). */
function withoutKeyHash({ authorizer, ...record }: RequestRecord): RequestRecord {
  if (authorizer === undefined) return record;
  const { keyHash: _, ...shown } = authorizer;
  return { ...record, authorizer: shown };
}
