import { type DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import type { Caller } from './caller.ts';
import { customPlan, type Limits, limitsOf, planNames } from './plans.ts';
import { storedCount } from './stored-count.ts';

/** The ApiKeys table: partition key `keyHash`, the SHA-256 of the key. */
export interface KeyTable {
  readonly client: DynamoDBDocumentClient;
  readonly tableName: string;
}

/** The attributes of a key that the functions read. The key tool stores more. */
export const keyRecord = z.object({
  keyHash: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
  /** The public name of the key, in logs, dashboards and the key tool. */
  keyId: z.string().check(z.minLength(1)),
  plan: z.enum(planNames),
  /** `active` or `revoked`. Only an active key is valid. */
  status: z.string(),
  /** Absent until the first change of plan. Read by `gatewayValueOf`. */
  gatewayKeyValue: z.optional(z.string().check(z.regex(/^[0-9a-f]{64}$/))),
  /** Unix seconds from which the key is no longer valid. */
  expiresAt: z.optional(storedCount),
  /** Only keys on the custom plan have these limits. */
  perMinute: z.optional(storedCount),
  perDay: z.optional(storedCount),
});
export type KeyRecord = z.infer<typeof keyRecord>;

/** Read consistently, because API Gateway would cache the denial of a new key. @throws ZodError if it is malformed */
export async function findKey(
  table: KeyTable,
  keyHash: string,
  signal?: AbortSignal,
): Promise<KeyRecord | undefined> {
  const { Item: item } = await table.client.send(
    new GetCommand({ TableName: table.tableName, Key: { keyHash }, ConsistentRead: true }),
    signal && { abortSignal: signal },
  );
  return item === undefined ? undefined : z.parse(keyRecord, item);
}

/** The value of the key's API Gateway key, which the authorizer returns as `usageIdentifierKey`. */
export function gatewayValueOf(key: Pick<KeyRecord, 'keyHash' | 'gatewayKeyValue'>): string {
  return key.gatewayKeyValue ?? key.keyHash;
}

export type KeyDecision =
  | { readonly kind: 'granted'; readonly caller: Caller; readonly gatewayValue: string }
  /** `unknown`, `expired`, or the status of a record that is not active. */
  | { readonly kind: 'denied'; readonly reason: string };

/** Whether a key is valid at `now` (Unix seconds), and its limits. @throws Error if a key on the custom plan has none */
export function decideKey(record: KeyRecord | undefined, now: number): KeyDecision {
  if (record === undefined) return { kind: 'denied', reason: 'unknown' };
  const { keyHash, keyId, plan, status, expiresAt = 0 } = record;
  if (status !== 'active') return { kind: 'denied', reason: status };
  if (expiresAt !== 0 && expiresAt <= now) return { kind: 'denied', reason: 'expired' };
  const caller = { keyHash, keyId, plan, expiresAt, limits: limitsOf(plan) ?? customLimits(record) };
  return { kind: 'granted', caller, gatewayValue: gatewayValueOf(record) };
}

function customLimits({ keyId, perMinute, perDay }: KeyRecord): Limits {
  if (perMinute && perDay) return { perMinute, perDay };
  throw new Error(
    `The record of key ${keyId} is malformed: the ${customPlan} plan requires perMinute and perDay`,
  );
}
