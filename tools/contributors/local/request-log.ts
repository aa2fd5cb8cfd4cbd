import type { RequestRecord } from 'cdk-offline';

/** A request's record without the hash of its key, which no log may contain (docs/security.md#api-keys). */
export function withoutKeyHash({ authorizer, ...record }: RequestRecord): RequestRecord {
  if (authorizer === undefined) return record;
  const { keyHash: _, ...shown } = authorizer;
  return { ...record, authorizer: shown };
}
