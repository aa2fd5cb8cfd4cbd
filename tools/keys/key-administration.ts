import { ConditionalCheckFailedException, TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import {
  DeleteCommand,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { keyRecord, type KeyTable, storedCount } from '../../functions/access/key-records.ts';
import type { Limits, Plan } from '../../functions/access/plans.ts';

/**
 * The records of keys as operators see and change them. The functions know less of a record, see key-records.ts,
 * and load nothing of this. Every change is one write that also adds its line to the record's audit trail, so
 * there is no change without a line.
 *
 * Indexes of the ApiKeys table: `byKeyId` (partition key `keyId`), `byOwner` and `byPlan` (sort key `keyId`).
 */

const auditLine = z.object({
  /** Unix seconds. */
  at: storedCount,
  /** Who: an ARN on AWS, a user of the machine on a laptop. */
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
  /** Who is making the key, while it is pending. */
  attempt: z.optional(z.string()),
  /** The id of its key in API Gateway, for as long as there is one. */
  gatewayKeyId: z.optional(z.string()),
  /** Present from a change of the record until API Gateway agrees with it: names that change. */
  unsettled: z.optional(z.string()),
  /** Ids of the keys before and after a rotation. */
  replaces: z.optional(z.string()),
  replacedBy: z.optional(z.string()),
  audit: z.array(auditLine),
});
export type AdministeredKey = z.infer<typeof administeredKey>;

/** A stored record that is none. Its message names the key by its id alone. */
export class DamagedRecordError extends Error {
  override readonly name = 'DamagedRecordError';
}

/** The record is not, or no longer, in the state that a change was decided on. */
export class StaleRecordError extends Error {
  override readonly name = 'StaleRecordError';
}

/**
 * Lines that a record's audit trail holds. What ends the key's life, or brings it back to those it was issued for, may
 * add to that: items end at 400 KB, far above.
 */
export const auditTrailLength = 1_000;

/** The record of the key with this id, or `undefined`. Its index is eventually consistent, the record is not. */
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

/** @throws DamagedRecordError */
export async function readKey(table: KeyTable, keyHash: string): Promise<AdministeredKey | undefined> {
  const { Item: item } = await table.client.send(
    new GetCommand({ TableName: table.tableName, Key: { keyHash }, ConsistentRead: true }),
  );
  return item && parseRecord(item);
}

/** Keys of one owner or of one plan. */
export type Partition = { readonly owner: string } | { readonly plan: Plan };

export interface PartitionPage {
  /** Newest first. */
  readonly keys: readonly AdministeredKey[];
  /** Records that are none, left out of `keys`. */
  readonly damaged: readonly DamagedRecordError[];
  /** Where to go on: the id of the last record read, where there may be older ones. */
  readonly next: string | undefined;
}

/**
 * The newest keys of a partition: one Query, which reads `limit` records or 1 MB at most.
 *
 * @param before only keys with smaller ids, which are older
 */
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
  const keys: AdministeredKey[] = [];
  const damaged: DamagedRecordError[] = [];
  for (const item of items) {
    const record = safeParseRecord(item);
    if (record instanceof DamagedRecordError) damaged.push(record);
    else keys.push(record);
  }
  const next: unknown = last?.['keyId'];
  return { keys, damaged, next: typeof next === 'string' ? next : undefined };
}

export interface NewKeyRecord {
  readonly keyHash: string;
  readonly keyId: string;
  readonly owner: string;
  readonly plan: Plan;
  readonly limits?: Limits | undefined;
  readonly note?: string | undefined;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly attempt: string;
}

/** Stores a key that is not valid yet. Doing it again changes nothing. @throws StaleRecordError */
export async function insertPendingKey(table: KeyTable, { limits, ...record }: NewKeyRecord): Promise<void> {
  await unlessStale(
    table.client.send(
      new PutCommand({
        TableName: table.tableName,
        Item: withoutUndefined({ ...record, ...limits, status: 'pending', audit: [] }),
        ConditionExpression: 'attribute_not_exists(keyHash) OR attempt = :attempt',
        ExpressionAttributeValues: { ':attempt': record.attempt },
      }),
    ),
  );
}

/**
 * Takes a pending key away from the attempt that was making it, which can then no longer make it valid.
 *
 * @throws StaleRecordError when it has become valid, or is gone
 */
export function takeOverPendingKey(
  table: KeyTable,
  { keyHash, attempt: from }: AdministeredKey,
  attempt: string,
): Promise<void> {
  return write(table, keyHash, { set: { attempt }, require: { status: 'pending', attempt: from } });
}

/** Removes a key that never became valid. @throws StaleRecordError when it has become so, or is gone */
export async function removePendingKey(table: KeyTable, keyHash: string): Promise<void> {
  await unlessStale(
    table.client.send(
      new DeleteCommand({
        TableName: table.tableName,
        Key: { keyHash },
        ConditionExpression: '#status = :pending',
        ExpressionAttributeNames: { '#status': 'status' },
        ExpressionAttributeValues: { ':pending': 'pending' },
      }),
    ),
  );
}

export interface Activation {
  readonly keyHash: string;
  readonly attempt: string;
  readonly gatewayKeyId: string;
  /** Id of the key that it replaces. */
  readonly replaces?: string | undefined;
  readonly line: AuditLine;
}

/** What a rotation does to the key that it replaces. */
export interface Replacement {
  readonly keyHash: string;
  readonly replacedBy: string;
  /** Unix seconds. */
  readonly expiresAt: number;
  readonly unsettled: string;
  readonly line: AuditLine;
}

/**
 * Makes a pending key valid, and in the same transaction ends the life of the one that it replaces, if any.
 *
 * @throws StaleRecordError when the pending key is gone, or the other is no longer active or has been replaced
 */
export async function activateKey(
  table: KeyTable,
  activation: Activation,
  replacement?: Replacement,
): Promise<void> {
  const { keyHash: newHash, attempt, gatewayKeyId, replaces } = activation;
  const updates = [
    changeOf(table, newHash, {
      set: { status: 'active', gatewayKeyId, ...(replaces !== undefined && { replaces }) },
      remove: ['attempt'],
      require: { status: 'pending', attempt },
      line: activation.line,
    }),
  ];
  if (replacement !== undefined) {
    const { keyHash, replacedBy, expiresAt, unsettled, line } = replacement;
    const change = {
      set: { replacedBy, expiresAt, unsettled },
      require: { status: 'active', replacedBy: undefined },
      line,
    };
    updates.push(changeOf(table, keyHash, change, Infinity));
  }
  await unlessStale(
    table.client.send(new TransactWriteCommand({ TransactItems: updates.map((Update) => ({ Update })) })),
  );
}

/** Makes an active key invalid for good. @throws StaleRecordError when it is not active */
export function revokeRecord(
  table: KeyTable,
  keyHash: string,
  { unsettled, line }: { readonly unsettled: string; readonly line: AuditLine },
): Promise<void> {
  const change = { set: { status: 'revoked', unsettled }, require: { status: 'active' }, line };
  return write(table, keyHash, change, Infinity);
}

/** Puts an active key on another plan, or changes its own limits. @throws StaleRecordError */
export function changeRecordPlan(
  table: KeyTable,
  { keyHash, plan: from }: AdministeredKey,
  { plan, limits, unsettled, line }: PlanChange,
): Promise<void> {
  return write(table, keyHash, {
    set: { plan, unsettled, ...limits },
    ...(limits === undefined && { remove: ['perMinute', 'perDay'] }),
    require: { status: 'active', plan: from },
    line,
  });
}

export interface PlanChange {
  readonly plan: Plan;
  /** On the custom plan only. */
  readonly limits?: Limits | undefined;
  readonly unsettled: string;
  readonly line: AuditLine;
}

/** Adds a line about a change that is stored elsewhere. @throws StaleRecordError when the key is not active */
export function addAuditLine(table: KeyTable, keyHash: string, line: AuditLine): Promise<void> {
  return write(table, keyHash, { require: { status: 'active' }, line });
}

/**
 * Notes that API Gateway has lost what the record says of an active key, and is to be brought in line with it again.
 *
 * @throws StaleRecordError when the key is no longer active, or has been changed since it was read
 */
export function unsettleRecord(
  table: KeyTable,
  { keyHash, plan }: AdministeredKey,
  { unsettled, line }: { readonly unsettled: string; readonly line: AuditLine },
): Promise<void> {
  const require = { status: 'active', plan, unsettled: undefined };
  return write(table, keyHash, { set: { unsettled }, require, line }, Infinity);
}

/**
 * Notes that API Gateway agrees with the record as it was when it was read.
 *
 * @param gatewayKeyId the key in API Gateway, `undefined` where there is none any more
 * @throws StaleRecordError when the record has been changed since
 */
export function settleRecord(
  table: KeyTable,
  { keyHash, status, plan, unsettled }: AdministeredKey,
  gatewayKeyId: string | undefined,
): Promise<void> {
  return write(table, keyHash, {
    ...(gatewayKeyId !== undefined && { set: { gatewayKeyId } }),
    remove: gatewayKeyId === undefined ? ['unsettled', 'gatewayKeyId'] : ['unsettled'],
    require: { status, plan, unsettled },
  });
}

interface Change {
  readonly set?: Readonly<Record<string, string | number>>;
  readonly remove?: readonly string[];
  /** Attributes and the values they must have; `undefined` for one that must not be there. */
  readonly require: Readonly<Record<string, string | undefined>>;
  readonly line?: AuditLine;
}

async function write(
  table: KeyTable,
  keyHash: string,
  change: Change,
  lines = auditTrailLength,
): Promise<void> {
  await unlessStale(table.client.send(new UpdateCommand(changeOf(table, keyHash, change, lines))));
}

/** An UpdateItem that does a change when its conditions hold. */
function changeOf(table: KeyTable, keyHash: string, change: Change, lines = auditTrailLength) {
  const { set = {}, remove = [], require: required, line } = change;
  const names: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  const name = (attribute: string): string => {
    names[`#${attribute}`] = attribute;
    return `#${attribute}`;
  };
  const value = (content: unknown): string => {
    const placeholder = `:v${Object.keys(values).length}`;
    values[placeholder] = content;
    return placeholder;
  };
  const sets = Object.entries(set).map(([attribute, content]) => `${name(attribute)} = ${value(content)}`);
  const conditions = Object.entries(required).map(([attribute, content]) =>
    content === undefined
      ? `attribute_not_exists(${name(attribute)})`
      : `${name(attribute)} = ${value(content)}`,
  );
  if (line !== undefined) {
    sets.push(`${name('audit')} = list_append(${name('audit')}, ${value([withoutUndefined(line)])})`);
    if (Number.isFinite(lines)) conditions.push(`size(${name('audit')}) < ${value(lines)}`);
  }
  const removals = remove.map(name);
  const update = [
    ...(sets.length > 0 ? [`SET ${sets.join(', ')}`] : []),
    ...(removals.length > 0 ? [`REMOVE ${removals.join(', ')}`] : []),
  ];
  return {
    TableName: table.tableName,
    Key: { keyHash },
    UpdateExpression: update.join(' '),
    ConditionExpression: conditions.join(' AND '),
    ExpressionAttributeNames: names,
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  };
}

async function unlessStale(writing: Promise<unknown>): Promise<void> {
  try {
    await writing;
  } catch (error) {
    if (isConditionFailure(error))
      throw new StaleRecordError('The key has been changed meanwhile', { cause: error });
    throw error;
  }
}

function isConditionFailure(error: unknown): boolean {
  if (error instanceof ConditionalCheckFailedException) return true;
  return (
    error instanceof TransactionCanceledException &&
    error.CancellationReasons?.some(({ Code: code }) => code === 'ConditionalCheckFailed') === true
  );
}

/** @throws DamagedRecordError */
function parseRecord(item: Readonly<Record<string, unknown>>): AdministeredKey {
  const record = safeParseRecord(item);
  if (record instanceof DamagedRecordError) throw record;
  return record;
}

function safeParseRecord(item: Readonly<Record<string, unknown>>): AdministeredKey | DamagedRecordError {
  const record = z.safeParse(administeredKey, item);
  if (record.success) return record.data;
  const faults = record.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
  return new DamagedRecordError(`The record of key ${String(item['keyId'])} is damaged: ${faults}`);
}

function withoutUndefined(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
