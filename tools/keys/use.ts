import { BatchGetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import {
  type LimitTable,
  storedNumber,
  storedUsage,
  usageRetentionDays,
} from '../../functions/access/limiter.ts';
import { unused, type Usage } from '../../functions/access/limits.ts';
import { secondsPerDay } from '../../functions/access/windows.ts';

/** The use and the suspension of API keys as operators read and change them: the limiter's own items. */

/** What is stored of a key's use. `minute` is also the minute of its last use. */
export interface KeyUse extends Usage {
  /** Calls to deprecated operations, since the key was first used. */
  readonly deprecatedCalls: number;
}

const storedUse = z.extend(storedUsage, { keyHash: z.string(), deprecatedCalls: storedNumber });

/** Items that one BatchGetItem reads at most. */
const batchSize = 100;
const batchAttempts = 8;
const neverUsed: KeyUse = { ...unused, deprecatedCalls: 0 };

/** The use of one key. */
export async function readUse(table: LimitTable, keyHash: string): Promise<KeyUse> {
  return (await readUses(table, [keyHash])).get(keyHash) ?? neverUsed;
}

/** The use of up to 100 keys, by hash. All zeros for keys that were not used in the last 90 days. */
export async function readUses(
  table: LimitTable,
  keyHashes: readonly string[],
): Promise<Map<string, KeyUse>> {
  if (keyHashes.length > batchSize) throw new RangeError(`At most ${batchSize} keys in one call`);
  const use = new Map(keyHashes.map((keyHash) => [keyHash, neverUsed]));
  let waiting: readonly Record<string, unknown>[] = keyHashes.map((keyHash) => ({ keyHash }));
  for (let attempt = 0; waiting.length > 0; attempt += 1) {
    if (attempt === batchAttempts)
      throw new Error('DynamoDB returned only some of the items. Try again later.');
    const { Responses: read, UnprocessedKeys: left } = await table.client.send(
      new BatchGetCommand({
        RequestItems: { [table.tableName]: { Keys: [...waiting], ConsistentRead: true } },
      }),
    );
    for (const item of read?.[table.tableName] ?? []) {
      const { keyHash, ...rest } = z.parse(storedUse, item);
      use.set(keyHash, rest);
    }
    waiting = left?.[table.tableName]?.Keys ?? [];
  }
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
      ExpressionAttributeValues: {
        ':until': until,
        ':expiresAt': until + usageRetentionDays * secondsPerDay,
      },
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
      ExpressionAttributeValues: { ':none': 0, ':expiresAt': now + usageRetentionDays * secondsPerDay },
    }),
  );
}
