import { randomUUID } from 'node:crypto';
import {
  GetCommand,
  paginateQuery,
  paginateScan,
  QueryCommand,
  TransactWriteCommand,
} from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { keyRecord } from '../../../functions/access/key-records.ts';
import type { Limits } from '../../../functions/access/plans.ts';
import { customPlan, limitsOf, type Plan, planNames } from '../../../functions/access/plans.ts';
import { storedCount } from '../../../functions/access/stored-count.ts';
import { type AuditLine, auditLine, commit } from '../command-line/change.ts';
import { problemsIn, ToolError } from '../command-line/errors.ts';
import { counted } from '../command-line/output.ts';
import type { KeyService } from './service.ts';

export { gatewayValueOf } from '../../../functions/access/key-records.ts';

/**
 * The records of API keys as operators read and change them. The functions read fewer attributes, see
 * functions/access/key-records.ts. Every change adds a line to the record's audit trail.
 *
 * Indexes of the ApiKeys table: `byKeyId` (partition key `keyId`), `byOwner` and `byPlan` (sort key `keyId`).
 */

/** A change keeps the attributes that this version does not know. */
const administeredKey = z.looseObject({
  ...keyRecord.shape,
  /** Any plan: a key of one that this version does not know must still be found and revoked. */
  plan: z.string().min(1),
  owner: z.string(),
  createdAt: storedCount,
  note: z.optional(z.string()),
  /** API Gateway's ID of the key. */
  gatewayKeyId: z.string(),
  /** IDs of the keys before and after a rotation. */
  replaces: z.optional(z.string()),
  replacedBy: z.optional(z.string()),
  audit: z.array(auditLine),
});
export type AdministeredKey = z.infer<typeof administeredKey>;

/** A stored record that fails validation. Its message names the key by its ID only. */
export class MalformedRecordError extends ToolError {}

/** Lines in an audit trail (items end at 400 KB). Only a change that ends the key's life, and a repair, may add more. */
const auditTrailLength = 1_000;

/** Whether the authorizer accepts a key. It accepts a suspended one, which then gets 429. @param now Unix seconds */
export function isValid({ status, expiresAt = 0 }: AdministeredKey, now: number): boolean {
  return status === 'active' && (expiresAt === 0 || expiresAt > now);
}

/** A plan, and on the custom plan the limits of the key. */
export type PlanLimits = Pick<AdministeredKey, 'plan' | 'perMinute' | 'perDay'>;

function isKnown(plan: string): plan is Plan {
  return planNames.some((name) => name === plan);
}

/** @returns `undefined` if this version does not know the plan */
export function limitsInForce({ plan, perMinute = 0, perDay = 0 }: PlanLimits): Limits | undefined {
  return isKnown(plan) ? (limitsOf(plan) ?? { perMinute, perDay }) : undefined;
}

export function describePlan({ plan, perMinute, perDay }: PlanLimits): string {
  return plan === customPlan ? `${plan} (${perMinute} a minute, ${perDay} a day)` : plan;
}

/** A sentence about plans that this version does not know. Empty if it knows them all. */
export function unknownPlansText(plans: readonly string[]): string {
  const unknown = [...new Set(plans.filter((plan) => !isKnown(plan)))];
  if (unknown.length === 0) return '';
  return `This version of the tool does not know the limits of ${counted(unknown.length, 'plan')}: ${unknown.join(', ')}. To see them, use a checkout that has the plan.`;
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
  return item && parseRecord(item);
}

export type KeyFilter = { readonly owner?: string | undefined; readonly plan?: Plan | undefined };

/**
 * The keys of an owner, otherwise of a plan or all keys, newest first. Malformed records are reported and left out.
 *
 * @param limit records at most
 * @returns the keys, and how many records match: more if some are malformed
 */
export async function newestKeys(service: KeyService, { owner, plan }: KeyFilter, limit = Infinity) {
  const { client, tableName } = service.keyTable;
  const [IndexName, attribute, partition] =
    owner === undefined ? ['byPlan', 'plan', plan] : ['byOwner', 'owner', owner];
  // One more than requested shows whether there are more.
  const paging = { client, pageSize: Math.min(limit + 1, 1_000) };
  const pages =
    partition === undefined
      ? // This reads the whole table, because no index has the keys of plans whose names are not known.
        paginateScan({ client }, { TableName: tableName, ConsistentRead: true })
      : paginateQuery(paging, {
          TableName: tableName,
          IndexName,
          KeyConditionExpression: '#partition = :partition',
          ExpressionAttributeNames: { '#partition': attribute },
          ExpressionAttributeValues: { ':partition': partition },
          ScanIndexForward: false,
        });
  const found: Record<string, unknown>[] = [];
  for await (const { Items: items = [] } of pages)
    if (found.push(...items) > limit && partition !== undefined) break;
  const newest = found.toSorted((a, b) => (String(a['keyId']) > String(b['keyId']) ? -1 : 1));
  const keys = newest.slice(0, limit).flatMap((item) => {
    try {
      return parseRecord(item);
    } catch (error) {
      service.notify((error as MalformedRecordError).message);
      return [];
    }
  });
  return { keys, matches: newest.length, hasMore: newest.length > limit };
}

/** One record and its audit line in a write. */
export interface Change extends Pick<AuditLine, 'did' | 'detail'> {
  /** The record as it was read. A new one has no audit lines yet. */
  readonly key: Pick<AdministeredKey, 'keyHash' | 'keyId' | 'audit'>;
  /** New attributes. One that is `undefined` is removed. */
  readonly set?: Partial<AdministeredKey>;
  /** Whether a full audit trail may grow further. */
  readonly anyLength?: boolean;
  /** What to do after "show" if it is unknown whether the change was made. The first change has it. */
  readonly ifUnknown?: string;
}

/**
 * Creates and changes records in one transaction, unless someone else changed one of them since it was read.
 *
 * @throws StaleRecordError, OutcomeUnknownError, ToolError
 */
export async function write(service: KeyService, ...changes: readonly Change[]): Promise<void> {
  const { client, tableName } = service.keyTable;
  const puts = await Promise.all(
    changes.map(async ({ key, did, detail, set, anyLength }) => {
      const version = key.audit.length;
      if (version >= auditTrailLength && !anyLength)
        throw new ToolError(
          'refused',
          `The audit trail of ${key.keyId} is full (${version} lines). Rotate or revoke the key.`,
        );
      const line = await service.auditLine(did, detail);
      const put = { TableName: tableName, Item: { ...key, ...set, audit: [...key.audit, line] } };
      if (version === 0) return { ...put, ConditionExpression: 'attribute_not_exists(keyHash)' };
      // Every change adds an audit line, so the length of the trail is the version of the record.
      const values = { ':version': version };
      return { ...put, ConditionExpression: 'size(audit) = :version', ExpressionAttributeValues: values };
    }),
  );
  const command = new TransactWriteCommand({
    TransactItems: puts.map((put) => ({ Put: put })),
    // A call that is repeated after a lost answer succeeds, instead of meeting its own write.
    ClientRequestToken: randomUUID(),
  });
  const { Item: written } = puts[0]!;
  const { ifUnknown } = changes[0]!;
  await commit({
    id: written.keyId,
    send: () => client.send(command),
    isMade: async () => {
      const found = await readKey(service, written.keyHash);
      if (found === undefined) return false;
      const last = ({ audit }: Pick<AdministeredKey, 'audit'>) =>
        JSON.stringify(audit[written.audit.length - 1]);
      // Another repair in the same second writes the same line.
      return found.gatewayKeyId === written.gatewayKeyId && last(found) === last(written);
    },
    ifUnknown,
    leftOver: 'Then "cleanup" deletes the API Gateway keys that are left over.',
  });
  for (const { Item: item } of puts) service.report({ keyId: item.keyId }, item.audit.at(-1)!);
}

function parseRecord(item: Readonly<Record<string, unknown>>): AdministeredKey {
  const { data, error } = z.safeParse(administeredKey, item);
  if (data !== undefined) return data;
  throw new MalformedRecordError(
    'failed',
    `The record of key ${String(item['keyId'])} is malformed: ${problemsIn(item, error)}`,
  );
}
