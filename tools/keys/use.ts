import { BatchGetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import {
  type LimitTable,
  storedNumber,
  storedUsage,
  usageRetentionDays,
} from '../../functions/access/limiter.ts';
import { unused } from '../../functions/access/limits.ts';
import { secondsPerDay } from '../../functions/access/windows.ts';

/** The use and the suspension of API keys as operators read and change them: the limiter's own items. */

const storedUse = z.extend(storedUsage, {
  /** Calls to deprecated operations, since the key was first used. */
  deprecatedCalls: storedNumber,
});

/** What is stored of a key's use. `minute` is also the minute of its last use. */
export type KeyUse = z.infer<typeof storedUse>;

const retention = usageRetentionDays * secondsPerDay;
const neverUsed: KeyUse = { ...unused, deprecatedCalls: 0 };

/** The use of keys in the order of their hashes. All zeros for a key that was not used in the last 90 days. */
export async function readUses(
  { client, tableName }: LimitTable,
  keyHashes: readonly string[],
): Promise<KeyUse[]> {
  const uses = new Map<unknown, KeyUse>();
  let left: Record<string, unknown>[] = keyHashes.map((keyHash) => ({ keyHash }));
  while (left.length > 0) {
    // One call reads at most 100 items, and fewer when DynamoDB throttles.
    const keys = left.slice(0, 100);
    const { Responses: read, UnprocessedKeys: unread } = await client.send(
      new BatchGetCommand({ RequestItems: { [tableName]: { Keys: keys, ConsistentRead: true } } }),
    );
    for (const item of read?.[tableName] ?? []) uses.set(item['keyHash'], z.parse(storedUse, item));
    left = [...(unread?.[tableName]?.Keys ?? []), ...left.slice(100)];
  }
  return keyHashes.map((keyHash) => uses.get(keyHash) ?? neverUsed);
}

export async function readUse(table: LimitTable, keyHash: string): Promise<KeyUse> {
  const [use = neverUsed] = await readUses(table, [keyHash]);
  return use;
}

/** A suspension that lasts until it is lifted: the end of the year 9999. */
export const indefinitely = 253_402_300_799;

/**
 * Makes the limiter answer a key's requests with 429 `key_suspended`, from the next one on.
 *
 * @param until Unix seconds
 */
export async function suspendUse(table: LimitTable, keyHash: string, until: number): Promise<void> {
  await table.client.send(
    new UpdateCommand({
      TableName: table.tableName,
      Key: { keyHash },
      // Time to live must not end the suspension early.
      UpdateExpression: 'SET suspendedUntil = :until, expiresAt = :expiresAt',
      ExpressionAttributeValues: { ':until': until, ':expiresAt': until + retention },
    }),
  );
}

/** Lifts a suspension, automatic ones included. @param now Unix seconds */
export async function resumeUse(table: LimitTable, keyHash: string, now: number): Promise<void> {
  await table.client.send(
    new UpdateCommand({
      TableName: table.tableName,
      Key: { keyHash },
      // With the rejections that suspended it still counted, the next one would suspend it again.
      UpdateExpression: 'SET rejections = :none, expiresAt = :expiresAt REMOVE suspendedUntil',
      ExpressionAttributeValues: { ':none': 0, ':expiresAt': now + retention },
    }),
  );
}
