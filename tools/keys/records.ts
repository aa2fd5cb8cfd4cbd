import {
  ConditionalCheckFailedException,
  TransactionCanceledException,
  TransactionConflictException,
} from '@aws-sdk/client-dynamodb';
import { GetCommand, QueryCommand, TransactWriteCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { keyRecord, type KeyTable, storedCount } from '../../functions/access/key-records.ts';
import { type Limits, limitsOf, type Plan, planNames } from '../../functions/access/plans.ts';
import { KeyToolError } from './errors.ts';

/**
 * The records of API keys as operators read and change them. The functions read fewer fields, see key-records.ts.
 * Every change is one write that also adds a line to the record's audit trail.
 *
 * Indexes of the ApiKeys table: `byKeyId` (partition key `keyId`), `byOwner` and `byPlan` (sort key `keyId`).
 */

const auditLine = z.object({
  /** Unix seconds. */
  at: storedCount,
  /** Who: an ARN on AWS, a user of the machine for the local service. */
  by: z.string(),
  /** What was done, as a past participle such as `created`. */
  did: z.string(),
  detail: z.optional(z.string()),
});
export type AuditLine = z.infer<typeof auditLine>;

const administeredKey = z.extend(keyRecord, {
  owner: z.string(),
  /** Unix seconds. */
  createdAt: storedCount,
  note: z.optional(z.string()),
  /** API Gateway's ID of the key. Absent from keys that version 1.0.0 revoked. */
  gatewayKeyId: z.optional(z.string()),
  /** IDs of the keys before and after a rotation. */
  replaces: z.optional(z.string()),
  replacedBy: z.optional(z.string()),
  audit: z.array(auditLine),
});
export type AdministeredKey = z.infer<typeof administeredKey>;

/** A stored record that fails validation. Its message names the key by its ID only. */
export class MalformedRecordError extends Error {
  override readonly name = 'MalformedRecordError';
}

/** The record was changed after it was read, or does not exist any more. */
export class StaleRecordError extends Error {
  override readonly name = 'StaleRecordError';
}

/** Lines in an audit trail. Only a change that ends the key's life, and a repair, may add more (items end at 400 KB). */
export const auditTrailLength = 1_000;

/** Whether the authorizer accepts a key. A suspended key is accepted, then answered 429. @param now Unix seconds */
export function isValid({ status, expiresAt = 0 }: AdministeredKey, now: number): boolean {
  return status === 'active' && (expiresAt === 0 || expiresAt > now);
}

/** The value of the key's API Gateway key, which the authorizer returns as `usageIdentifierKey`. */
export function gatewayValueOf({ keyHash, gatewayKeyValue }: AdministeredKey): string {
  return gatewayKeyValue ?? keyHash;
}

/** The limits on the key's own record, `undefined` on a plan with fixed limits. */
export function ownLimits({ plan, perMinute, perDay }: AdministeredKey): Limits | undefined {
  return limitsOf(plan) === undefined && perMinute !== undefined && perDay !== undefined
    ? { perMinute, perDay }
    : undefined;
}

/** The record of the key with this ID. The index is eventually consistent, the record is not. */
export async function findKeyById(table: KeyTable, keyId: string): Promise<AdministeredKey | undefined> {
  const { Items: found } = await table.client.send(
    new QueryCommand({
      TableName: table.tableName,
      IndexName: 'byKeyId',
      KeyConditionExpression: 'keyId = :keyId',
      ExpressionAttributeValues: { ':keyId': keyId },
      Limit: 1,
    }),
  );
  const keyHash: unknown = found?.[0]?.['keyHash'];
  return typeof keyHash === 'string' ? readKey(table, keyHash) : undefined;
}

/** @throws MalformedRecordError */
export async function readKey(table: KeyTable, keyHash: string): Promise<AdministeredKey | undefined> {
  const { Item: item } = await table.client.send(
    new GetCommand({ TableName: table.tableName, Key: { keyHash }, ConsistentRead: true }),
  );
  if (item === undefined) return undefined;
  const record = parseRecord(item);
  if (record instanceof MalformedRecordError) throw record;
  return record;
}

/** The keys of one owner or of one plan. */
export type Partition = { readonly owner: string } | { readonly plan: Plan };

/** The partitions of the indexes that hold the keys of an owner, of a plan, or all keys. */
export function partitionsOf({
  owner,
  plan,
}: {
  readonly owner?: string | undefined;
  readonly plan?: Plan | undefined;
}): readonly Partition[] {
  if (owner !== undefined) return [{ owner }];
  return (plan === undefined ? planNames : [plan]).map((each) => ({ plan: each }));
}

export interface PartitionPage {
  /** Newest first. */
  readonly keys: readonly AdministeredKey[];
  /** Records that fail validation, left out of `keys`. */
  readonly malformed: readonly MalformedRecordError[];
  /** ID of the last record read, if there may be older ones. */
  readonly next: string | undefined;
}

/** The newest keys of a partition: one Query of at most `limit` records or 1 MB. @param before only older keys */
export async function queryKeys(
  table: KeyTable,
  partition: Partition,
  { before, limit }: { readonly before?: string | undefined; readonly limit: number },
): Promise<PartitionPage> {
  const [attribute, value] = 'owner' in partition ? ['owner', partition.owner] : ['plan', partition.plan];
  const { Items: items = [], LastEvaluatedKey: last } = await table.client.send(
    new QueryCommand({
      TableName: table.tableName,
      IndexName: attribute === 'owner' ? 'byOwner' : 'byPlan',
      KeyConditionExpression: before === undefined ? '#p = :p' : '#p = :p AND keyId < :before',
      ExpressionAttributeNames: { '#p': attribute },
      ExpressionAttributeValues: { ':p': value, ...(before !== undefined && { ':before': before }) },
      ScanIndexForward: false,
      Limit: limit,
    }),
  );
  const records = items.map(parseRecord);
  const next: unknown = last?.['keyId'];
  return {
    keys: records.filter((record): record is AdministeredKey => !(record instanceof MalformedRecordError)),
    malformed: records.filter((record) => record instanceof MalformedRecordError),
    next: typeof next === 'string' ? next : undefined,
  };
}

/**
 * Every record of some partitions, newest first in each, a page at a time.
 *
 * @param onMalformed called for each record that is left out
 */
export async function* recordsOf(
  table: KeyTable,
  partitions: readonly Partition[],
  onMalformed: (error: MalformedRecordError) => void,
  { before: first, size = 100 }: { readonly before?: string | undefined; readonly size?: number } = {},
): AsyncGenerator<AdministeredKey> {
  for (const partition of partitions) {
    let before = first;
    do {
      const page = await queryKeys(table, partition, { before, limit: size });
      page.malformed.forEach(onMalformed);
      yield* page.keys;
      before = page.next;
    } while (before !== undefined);
  }
}

export interface Change {
  readonly set?: Readonly<Record<string, string | number>>;
  readonly remove?: readonly string[];
  readonly line: AuditLine;
  /** Whether a full audit trail may grow further. */
  readonly anyLength?: boolean;
}

/** Changes a record, unless someone else did since it was read. @throws StaleRecordError, KeyToolError */
export async function changeKey(table: KeyTable, key: AdministeredKey, change: Change): Promise<void> {
  await rejectIfStale(table.client.send(new UpdateCommand(updateOf(table, key, change))));
}

/**
 * Stores a new key, which is valid from then on. In the same transaction changes the key that it replaces, if any.
 *
 * @throws StaleRecordError when the replaced key was changed since it was read
 */
export async function storeNewKey(
  table: KeyTable,
  record: AdministeredKey,
  replaced?: { readonly key: AdministeredKey; readonly change: Change },
): Promise<void> {
  const Put = {
    TableName: table.tableName,
    Item: withoutUndefined({ ...record, audit: record.audit.map(withoutUndefined) }),
    ConditionExpression: 'attribute_not_exists(keyHash)',
  };
  const TransactItems = [
    { Put },
    ...(replaced ? [{ Update: updateOf(table, replaced.key, replaced.change) }] : []),
  ];
  await rejectIfStale(table.client.send(new TransactWriteCommand({ TransactItems })));
}

/** Every change adds an audit line, so the trail's length is the record's version. */
function updateOf(table: KeyTable, { keyHash, keyId, audit }: AdministeredKey, change: Change) {
  const { set = {}, remove = [], line, anyLength = false } = change;
  if (!anyLength && audit.length >= auditTrailLength) {
    throw new KeyToolError(
      'refused',
      `The audit trail of ${keyId} is full (${auditTrailLength} lines). Rotate or revoke the key.`,
    );
  }
  const sets = Object.keys(set).map((name) => `#${name} = :${name}`);
  const names = ['audit', ...Object.keys(set), ...remove];
  return {
    TableName: table.tableName,
    Key: { keyHash },
    UpdateExpression: [
      `SET ${[...sets, '#audit = list_append(#audit, :line)'].join(', ')}`,
      ...(remove.length > 0 ? [`REMOVE ${remove.map((name) => `#${name}`).join(', ')}`] : []),
    ].join(' '),
    ConditionExpression: 'size(#audit) = :version',
    ExpressionAttributeNames: Object.fromEntries(names.map((name) => [`#${name}`, name])),
    ExpressionAttributeValues: {
      ':line': [withoutUndefined(line)],
      ':version': audit.length,
      ...Object.fromEntries(Object.entries(set).map(([name, value]) => [`:${name}`, value])),
    },
  };
}

async function rejectIfStale(writing: Promise<unknown>): Promise<void> {
  try {
    await writing;
  } catch (error) {
    if (!isOvertaken(error)) throw error;
    throw new StaleRecordError('The key was changed by someone else. Look at it and try again.', {
      cause: error,
    });
  }
}

function isOvertaken(error: unknown): boolean {
  if (error instanceof ConditionalCheckFailedException || error instanceof TransactionConflictException)
    return true;
  const reasons = error instanceof TransactionCanceledException ? (error.CancellationReasons ?? []) : [];
  return reasons.some(
    ({ Code: code }) => code === 'ConditionalCheckFailed' || code === 'TransactionConflict',
  );
}

function parseRecord(item: Readonly<Record<string, unknown>>): AdministeredKey | MalformedRecordError {
  const record = z.safeParse(administeredKey, item);
  if (record.success) return record.data;
  const errors = record.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
  return new MalformedRecordError(`The record of key ${String(item['keyId'])} is malformed: ${errors}`);
}

function withoutUndefined(item: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined));
}
