import { BatchGetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { decideUncounted, storedNumber, storedUsage } from '../../../functions/access/limiter-decisions.ts';
import { type LimitTable, usageRetentionDays } from '../../../functions/access/limiter.ts';
import { type Limits, secondsPerDay } from '../../../functions/access/plans.ts';
import { isoTime } from '../command-line/output.ts';

/** The usage and the suspension of API keys: the rate limiter's own items. */

/** `minute` is also the minute of the last request, `deprecatedCalls` the calls since the first. */
const storedKeyUsage = z.object({ ...storedUsage.shape, deprecatedCalls: storedNumber });
export type KeyUsage = z.infer<typeof storedKeyUsage>;
/** The usage of a key that was not used in the last 90 days. */
export const noUsage: KeyUsage = z.parse(storedKeyUsage, {});

/** The usage of keys in the order of their hashes. */
export async function readUsages(
  { client, tableName }: LimitTable,
  keyHashes: readonly string[],
): Promise<KeyUsage[]> {
  const usages = new Map<unknown, KeyUsage>();
  let left: Record<string, unknown>[] = keyHashes.map((keyHash) => ({ keyHash }));
  while (left.length > 0) {
    // One call reads at most 100 items, and fewer when DynamoDB throttles.
    const request = { Keys: left.slice(0, 100), ConsistentRead: true };
    const { Responses: read, UnprocessedKeys: unread } = await client.send(
      new BatchGetCommand({ RequestItems: { [tableName]: request } }),
    );
    for (const item of read?.[tableName] ?? []) usages.set(item['keyHash'], z.parse(storedKeyUsage, item));
    left = [...(unread?.[tableName]?.Keys ?? []), ...left.slice(100)];
  }
  return keyHashes.map((keyHash) => usages.get(keyHash) ?? noUsage);
}

export async function readUsage(table: LimitTable, keyHash: string): Promise<KeyUsage> {
  const [usage] = await readUsages(table, [keyHash]);
  return usage!;
}

/** End of a suspension that an operator has to lift: the end of the year 9999. */
export const indefinitely = 253_402_300_799;

/** `until 2026-07-01T12:00:30Z`, or `indefinitely`. @param seconds Unix seconds */
export function untilTime(seconds: number): string {
  return seconds >= indefinitely ? 'indefinitely' : `until ${isoTime(seconds)}`;
}

/**
 * A sentence about a key whose next request the limiter rejects. Empty if it does not.
 *
 * @param limits `undefined` if this version does not know them
 */
export function rejectionText(usage: KeyUsage, limits: Limits | undefined, now: number): string {
  const suspended = ` It is suspended ${untilTime(usage.suspendedUntil)}, so its requests get 429.`;
  if (limits === undefined) return usage.suspendedUntil > now ? suspended : '';
  const { kind, status } = decideUncounted(usage, limits, now);
  if (kind === 'admitted') return '';
  if (kind === 'suspended') return suspended;
  const { name, reset } = status[status.inForce];
  return ` It has used its limit of the ${name}, so its requests get 429 until ${isoTime(reset)}.`;
}

/**
 * Makes the rate limiter answer a key's requests with 429 `key_suspended`, or lifts a suspension, automatic ones
 * included.
 *
 * @param until Unix seconds, 0 to lift it
 * @param latestEnd the latest end of a suspension that this may replace
 * @throws ConditionalCheckFailedException if the key is suspended for longer
 */
export async function setSuspension(
  { client, tableName }: LimitTable,
  keyHash: string,
  until: number,
  now: number,
  latestEnd = indefinitely,
): Promise<void> {
  // Time to live must not end the suspension early.
  const expiresAt = Math.max(until, now) + usageRetentionDays * secondsPerDay;
  await client.send(
    new UpdateCommand({
      TableName: tableName,
      Key: { keyHash },
      // If earlier rejections still counted, the next one would suspend a resumed key again.
      UpdateExpression: 'SET suspendedUntil = :until, rejections = :zero, expiresAt = :expiresAt',
      ConditionExpression: 'attribute_not_exists(suspendedUntil) OR suspendedUntil <= :latestEnd',
      ExpressionAttributeValues: {
        ':until': until,
        ':zero': 0,
        ':expiresAt': expiresAt,
        ':latestEnd': latestEnd,
      },
    }),
  );
}
