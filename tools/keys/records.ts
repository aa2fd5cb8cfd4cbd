import {
  ConditionalCheckFailedException,
  TransactionCanceledException,
  TransactionConflictException,
} from '@aws-sdk/client-dynamodb';
import {
  GetCommand,
  paginateQuery,
  QueryCommand,
  type QueryCommandInput,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { keyRecord } from '../../functions/access/key-records.ts';
import { customPlan, type Limits, type Plan, planNames } from '../../functions/access/plans.ts';
import { storedCount } from '../../functions/access/stored-count.ts';
import { KeyToolError } from './errors.ts';
import { type KeyService, nowOf } from './service.ts';

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
/** A line of the audit trail, with the key that it is about. */
export type ChangeLine = AuditLine & { readonly stage: string; readonly keyId: string };

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
export class MalformedRecordError extends KeyToolError {
  override readonly name = 'MalformedRecordError';
}

/** The record was changed after it was read, or does not exist any more. */
export class StaleRecordError extends KeyToolError {
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
export function ownLimits({ plan, perMinute = 0, perDay = 0 }: AdministeredKey): Limits | undefined {
  return plan === customPlan ? { perMinute, perDay } : undefined;
}

/** The record of the key with this ID. The index is eventually consistent, the record is not. */
export async function findKeyById(service: KeyService, keyId: string): Promise<AdministeredKey | undefined> {
  const { client, tableName } = service.keyTable;
  const { Items: found } = await client.send(
    new QueryCommand({
      TableName: tableName,
      IndexName: 'byKeyId',
      KeyConditionExpression: 'keyId = :keyId',
      ExpressionAttributeValues: { ':keyId': keyId },
      Limit: 1,
    }),
  );
  const keyHash: unknown = found?.[0]?.['keyHash'];
  return typeof keyHash === 'string' ? readKey(service, keyHash) : undefined;
}

/** @throws MalformedRecordError */
export async function readKey(
  { keyTable: { client, tableName } }: KeyService,
  keyHash: string,
): Promise<AdministeredKey | undefined> {
  const { Item: item } = await client.send(
    new GetCommand({ TableName: tableName, Key: { keyHash }, ConsistentRead: true }),
  );
  return item === undefined ? undefined : parseRecord(item);
}

export interface KeyFilter {
  readonly owner?: string | undefined;
  readonly plan?: Plan | undefined;
}

/** The queries for the keys of an owner, of a plan, or of every plan, newest first. @param before only older keys */
function queriesOf({ keyTable }: KeyService, { owner, plan }: KeyFilter, before = '~'): QueryCommandInput[] {
  const plans = plan === undefined ? planNames : [plan];
  return (owner === undefined ? plans : [owner]).map((value) => ({
    TableName: keyTable.tableName,
    IndexName: owner === undefined ? 'byPlan' : 'byOwner',
    KeyConditionExpression: '#partition = :partition AND keyId < :before',
    ExpressionAttributeNames: { '#partition': owner === undefined ? 'plan' : 'owner' },
    ExpressionAttributeValues: { ':partition': value, ':before': before },
    ScanIndexForward: false,
  }));
}

/** Every key that the filter lets through, a page at a time. Malformed records are reported and left out. */
export async function* allKeys(service: KeyService, filter: KeyFilter): AsyncGenerator<AdministeredKey> {
  const { client } = service.keyTable;
  for (const query of queriesOf(service, filter))
    for await (const { Items: items } of paginateQuery({ client }, query))
      yield* keysAmong(service, items, filter);
}

/**
 * The newest keys that the filter lets through: one Query for each partition, of at most `limit` records or 1 MB.
 *
 * @returns keys, newest first, and the ID of the last record read if there may be older ones
 */
export async function newestKeys(
  service: KeyService,
  filter: KeyFilter,
  limit: number,
  before: string | undefined,
): Promise<{ readonly keys: readonly AdministeredKey[]; readonly end: string | undefined }> {
  const queries = queriesOf(service, filter, before).map(
    (query) => new QueryCommand({ ...query, Limit: limit }),
  );
  const pages = await Promise.all(queries.map((query) => service.keyTable.client.send(query)));
  // A partition was not read beyond this ID, so older keys of the others have to wait for the next page.
  const ends = pages.map(({ LastEvaluatedKey: last }) => String(last?.['keyId'] ?? ''));
  const end = ends.toSorted().at(-1) ?? '';
  const keys = pages
    .flatMap(({ Items: items }) => keysAmong(service, items, filter))
    .filter(({ keyId }) => keyId >= end)
    .toSorted((a, b) => (a.keyId > b.keyId ? -1 : 1));
  return { keys, end: end || undefined };
}

export interface Change {
  /** What was done, see `AuditLine`. */
  readonly did: string;
  readonly detail?: string;
  readonly set?: Readonly<Record<string, string | number>>;
  readonly remove?: readonly string[];
  /** Whether a full audit trail may grow further. */
  readonly anyLength?: boolean;
}

/** Changes a record, unless someone else did since it was read. @throws StaleRecordError, KeyToolError */
export async function changeKey(service: KeyService, key: AdministeredKey, change: Change): Promise<void> {
  const { line, update } = await updateOf(service, key, change);
  await rejectIfStale(service.keyTable.client.send(new UpdateCommand(update)));
  await report(service, key, line);
}

/**
 * Stores a new key, which is valid from then on. In the same transaction changes the key that it replaces, if any.
 *
 * @throws StaleRecordError when the replaced key was changed since it was read
 */
export async function storeNewKey(
  service: KeyService,
  record: Omit<AdministeredKey, 'audit'>,
  detail: string,
  replaced?: { readonly key: AdministeredKey; readonly change: Change },
): Promise<void> {
  const { client, tableName } = service.keyTable;
  const line = await newLine(service, { did: 'created', detail });
  const other = replaced && (await updateOf(service, replaced.key, replaced.change));
  const Put = {
    TableName: tableName,
    Item: { ...record, audit: [line] },
    ConditionExpression: 'attribute_not_exists(keyHash)',
  };
  const TransactItems = [{ Put }, ...(other ? [{ Update: other.update }] : [])];
  await rejectIfStale(client.send(new TransactWriteCommand({ TransactItems })));
  if (replaced && other) service.onChange({ ...other.line, keyId: replaced.key.keyId, stage: service.stage });
  await report(service, record, line);
}

/** Reports a change that has been written. */
async function report(service: KeyService, { keyId }: { keyId: string }, line: AuditLine): Promise<void> {
  service.onChange({ ...line, keyId, stage: service.stage });
  await service.afterStep('record');
}

/** A line of the audit trail: done now, by the user of the tool. */
export async function newLine(
  service: KeyService,
  { did, detail }: Pick<Change, 'did' | 'detail'>,
): Promise<AuditLine> {
  return { at: nowOf(service), by: await service.identify(), did, ...(detail !== undefined && { detail }) };
}

/** Every change adds an audit line, so the trail's length is the record's version. */
async function updateOf(service: KeyService, { keyHash, keyId, audit }: AdministeredKey, change: Change) {
  const { set = {}, remove = [], anyLength = false } = change;
  if (!anyLength && audit.length >= auditTrailLength) {
    throw new KeyToolError(
      'refused',
      `The audit trail of ${keyId} is full (${auditTrailLength} lines). Rotate or revoke the key.`,
    );
  }
  const line = await newLine(service, change);
  const sets = Object.keys(set).map((name) => `#${name} = :${name}`);
  const removes = remove.length > 0 ? ` REMOVE ${remove.map((name) => `#${name}`).join(', ')}` : '';
  const update = {
    TableName: service.keyTable.tableName,
    Key: { keyHash },
    UpdateExpression: `SET ${[...sets, '#audit = list_append(#audit, :line)'].join(', ')}${removes}`,
    ConditionExpression: 'size(#audit) = :version',
    ExpressionAttributeNames: Object.fromEntries(
      ['audit', ...Object.keys(set), ...remove].map((name) => [`#${name}`, name]),
    ),
    ExpressionAttributeValues: {
      ':line': [line],
      ':version': audit.length,
      ...Object.fromEntries(Object.entries(set).map(([name, value]) => [`:${name}`, value])),
    },
  };
  return { line, update };
}

async function rejectIfStale(writing: Promise<unknown>): Promise<void> {
  try {
    await writing;
  } catch (error) {
    const reasons = error instanceof TransactionCanceledException ? (error.CancellationReasons ?? []) : [];
    const isStale =
      error instanceof ConditionalCheckFailedException ||
      error instanceof TransactionConflictException ||
      reasons.some(({ Code: code = '' }) => /^(ConditionalCheckFailed|TransactionConflict)$/.test(code));
    if (!isStale) throw error;
    const message = 'The key was changed by someone else. Look at it and try again.';
    throw new StaleRecordError('refused', message, { cause: error });
  }
}

function parseRecord(item: Readonly<Record<string, unknown>>): AdministeredKey {
  const record = z.safeParse(administeredKey, item);
  if (record.success) return record.data;
  const errors = record.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
  throw new MalformedRecordError(
    'failed',
    `The record of key ${String(item['keyId'])} is malformed: ${errors}`,
  );
}

function keysAmong(
  { notify }: KeyService,
  items: readonly Record<string, unknown>[] = [],
  { plan }: KeyFilter,
): AdministeredKey[] {
  const keys = items.flatMap((item) => {
    try {
      return [parseRecord(item)];
    } catch (error) {
      notify((error as MalformedRecordError).message);
      return [];
    }
  });
  return keys.filter((key) => plan === undefined || key.plan === plan);
}
