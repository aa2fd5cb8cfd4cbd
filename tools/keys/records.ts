import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import {
  GetCommand,
  paginateQuery,
  QueryCommand,
  type QueryCommandInput,
  TransactWriteCommand,
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

/** One record and its audit line in a write. */
export interface Change {
  /** As it was read. A new record has no `audit` lines yet. */
  readonly key: Pick<AdministeredKey, 'keyHash' | 'keyId' | 'audit'>;
  /** What was done, see `AuditLine`. */
  readonly did: string;
  readonly detail?: string;
  /** Attributes to set, or to remove if `undefined`. */
  readonly set?: Readonly<Record<string, string | number | undefined>>;
  /** Whether a full audit trail may grow further. */
  readonly anyLength?: boolean;
}

/**
 * Creates and changes records in one transaction, unless someone else changed one of them since it was read.
 *
 * @throws StaleRecordError, KeyToolError
 */
export async function write(service: KeyService, ...changes: readonly Change[]): Promise<void> {
  const full = changes.find(({ key, anyLength }) => !anyLength && key.audit.length >= auditTrailLength);
  if (full !== undefined) {
    throw new KeyToolError(
      'refused',
      `The audit trail of ${full.key.keyId} is full (${auditTrailLength} lines). Rotate or revoke the key.`,
    );
  }
  const stamp = { at: nowOf(service), by: await service.identify() };
  const TransactItems = changes.map((change) => ({ Update: updateOf(service, change, stamp) }));
  try {
    await service.keyTable.client.send(new TransactWriteCommand({ TransactItems }));
  } catch (error) {
    const reasons = error instanceof TransactionCanceledException ? (error.CancellationReasons ?? []) : [];
    if (!reasons.some(({ Code: code = '' }) => /^(ConditionalCheckFailed|TransactionConflict)$/.test(code)))
      throw error;
    const message = 'The key was changed by someone else. Look at it and try again.';
    throw new StaleRecordError('refused', message, { cause: error });
  }
  for (const { key, did, detail } of changes) await report(service, key.keyId, did, detail);
  await service.afterStep('record');
}

/** Every change adds an audit line, so the trail's length is the record's version. */
function updateOf(
  { keyTable: { tableName } }: KeyService,
  { key: { keyHash, audit }, did, detail, set = {} }: Change,
  stamp: Pick<AuditLine, 'at' | 'by'>,
) {
  const isNew = audit.length === 0;
  const names = Object.keys(set);
  const [sets, removes] = [
    names.filter((name) => set[name] !== undefined),
    names.filter((name) => set[name] === undefined),
  ];
  const line = { ...stamp, did, ...(detail !== undefined && { detail }) };
  return {
    TableName: tableName,
    Key: { keyHash },
    UpdateExpression:
      `SET #audit = ${isNew ? ':line' : 'list_append(#audit, :line)'}` +
      sets.map((name) => `, #${name} = :${name}`).join('') +
      (removes.length > 0 ? ` REMOVE ${removes.map((name) => `#${name}`).join(', ')}` : ''),
    ConditionExpression: isNew ? 'attribute_not_exists(#audit)' : 'size(#audit) = :version',
    ExpressionAttributeNames: Object.fromEntries(['audit', ...names].map((name) => [`#${name}`, name])),
    ExpressionAttributeValues: {
      ':line': [line],
      ...(!isNew && { ':version': audit.length }),
      ...Object.fromEntries(sets.map((name) => [`:${name}`, set[name]])),
    },
  };
}

/** Reports a change that has been made, with its time and who made it. */
export async function report(
  service: KeyService,
  keyId: string,
  did: string,
  detail?: string,
): Promise<void> {
  const { stage } = service;
  const [at, by] = [nowOf(service), await service.identify()];
  service.onChange({ at, by, did, ...(detail !== undefined && { detail }), keyId, stage });
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
