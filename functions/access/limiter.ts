import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod/mini';
import type { UnixSeconds } from '../runtime/unix-time.ts';
import { type Limits, secondsPerDay } from './plans.ts';
import {
  clockTolerance,
  decide,
  type Decision,
  decisionAfter,
  isRejection,
  storedUsage,
  suspensionGrace,
  type Transition,
  unused,
  type Usage,
  windowsAt,
} from './limiter-decisions.ts';

/** The RateLimits table: partition key `keyHash`, time to live `expiresAt`. One item per key. */
export interface LimitTable {
  readonly client: DynamoDBDocumentClient;
  readonly tableName: string;
}

/** Days that the item of a key is kept after its last use. */
export const usageRetentionDays = 90;

export interface RateLimitRequest {
  readonly keyHash: string;
  readonly limits: Limits;
  readonly now: UnixSeconds;
  /** Whether a call of a deprecated operation is counted, too. */
  readonly deprecated?: boolean;
}

/*
 * The item of a key, and the write for each transition. The condition of each write repeats the usage that it was
 * decided on, so only one of two concurrent decisions on the same usage is written.
 *
 * So each rule stands twice, here and in `decide`. Conditions that were derived from its comparisons would need an expression language,
 * and would no longer be the expressions that DynamoDB gets. test/service/limits.test.ts compares both in every order of requests.
 *
 *   day D                                                          day D+1
 *   ├─ minute M ──────────────────┬─ minute M+1 ───────────────────┼─ ...
 *   │ startDay    minuteCount = 1 │ startMinute    minuteCount = 1 │ startDay  minuteCount = 1
 *   │               dayCount = 1  │                  dayCount + 1  │             dayCount = 1
 *   │ count       minuteCount + 1 │ count                          │
 *   │               dayCount + 1  │                                │
 *
 *   In a minute in which a window is full:
 *   ├─ startRejecting ── 10 s ──┬─ countRejection ──────────────────── end of the minute
 *   │ rejectedSince = now       │ rejections + 1
 *   │    rejections = 0         │ at suspensionThreshold: suspendedUntil = now + 600 s, no other write until then
 *   │ reject: no write          │
 */

const notSuspended = '(attribute_not_exists(suspendedUntil) OR suspendedUntil <= :now)';

const isFull = '#day = :day AND (dayCount >= :perDay OR (#minute = :minute AND minuteCount >= :perMinute))';

const writes = {
  count: {
    update: 'ADD minuteCount :one, dayCount :one, deprecatedCalls :deprecatedCalls',
    // `#day = :day` follows from `#minute = :minute`: a minute is in one day.
    condition: `#minute = :minute AND #day = :day AND minuteCount < :perMinute AND dayCount < :perDay AND ${notSuspended}`,
  },
  startMinute: {
    update: 'SET #minute = :minute, minuteCount = :one ADD dayCount :one, deprecatedCalls :deprecatedCalls',
    condition: `(#minute < :minute OR #minute > :latest) AND #day = :day AND dayCount < :perDay AND ${notSuspended}`,
  },
  startDay: {
    update:
      'SET #minute = :minute, minuteCount = :one, #day = :day, dayCount = :one, expiresAt = :expiresAt ' +
      'ADD deprecatedCalls :deprecatedCalls',
    condition: `(attribute_not_exists(#day) OR #day < :day OR #day > :latest) AND ${notSuspended}`,
  },
  startRejecting: {
    update: 'SET rejectedSince = :now, rejections = :zero',
    condition: `${isFull} AND (attribute_not_exists(rejectedSince) OR rejectedSince < :thisMinute OR rejectedSince > :latest) AND ${notSuspended}`,
  },
  countRejection: {
    // `:suspendedUntil` is 0 unless this is the last rejection before the suspension.
    update: 'SET suspendedUntil = :suspendedUntil ADD rejections :one',
    condition: `${isFull} AND rejectedSince BETWEEN :thisMinute AND :graceStart AND rejections >= :rejections AND ${notSuspended}`,
  },
} as const satisfies Record<Exclude<Transition['kind'], 'suspended' | 'reject'>, object>;

/** More than concurrent functions can cause: an item that they leave as it is has no attributes to decide on. */
const maxWrites = 10;

/**
 * Counts a request of a key or rejects it, exactly for any number of concurrent functions. One write in the common case.
 *
 * @throws errors of DynamoDB, or AbortError after the signal, unless the usage read so far already rejects the request; Error
 * if no write is applied, because the item is malformed
 */
export async function admit(
  table: LimitTable,
  request: RateLimitRequest,
  signal?: AbortSignal,
): Promise<Decision> {
  const { keyHash, limits, now } = request;
  // This is correct for nearly every request, so the stored usage is not read first.
  let transition: Transition = { kind: 'count', windows: windowsAt(now) };
  let usage = unused;
  for (let attempt = 1; transition.kind !== 'suspended' && transition.kind !== 'reject'; attempt += 1) {
    if (attempt > maxWrites)
      throw new Error(
        `The item of this key in the table of rate limits is malformed: ${maxWrites} writes failed on their conditions. ` +
          `It was read as ${JSON.stringify(usage)}`,
      );
    try {
      const values = valuesOf(request, transition, usage);
      const written = await write(table, keyHash, writes[transition.kind], values, signal);
      usage = written.usage;
      if (written.done) break;
    } catch (error) {
      // The window is full: the request is rejected even if the rejection cannot be counted.
      if (isRejection(transition)) break;
      throw error;
    }
    transition = decide(usage, limits, now);
  }
  return decisionAfter(transition, usage, limits, now);
}

type Values = Readonly<Record<`:${string}`, number>>;

function valuesOf(
  { limits, now, deprecated = false }: RateLimitRequest,
  { windows, suspendedUntil = 0 }: Transition,
  { rejections }: Usage,
): Values {
  return {
    ':zero': 0,
    ':one': 1,
    ':now': now,
    ':latest': now + clockTolerance,
    ':minute': windows.minute,
    ':day': windows.day,
    ':perMinute': limits.perMinute,
    ':perDay': limits.perDay,
    ':thisMinute': windowsAt(now).minute,
    ':graceStart': now - suspensionGrace,
    ':deprecatedCalls': deprecated ? 1 : 0,
    ':expiresAt': windows.day + (usageRetentionDays + 1) * secondsPerDay,
    ':rejections': rejections,
    ':suspendedUntil': suspendedUntil,
  };
}

/** `usage`: after the write, or what the condition failed on. */
async function write(
  table: LimitTable,
  keyHash: string,
  { update, condition }: (typeof writes)[keyof typeof writes],
  values: Values,
  signal: AbortSignal | undefined,
): Promise<{ readonly done: boolean; readonly usage: Usage }> {
  try {
    const { Attributes: attributes } = await table.client.send(
      new UpdateCommand({
        TableName: table.tableName,
        Key: { keyHash },
        UpdateExpression: update,
        ConditionExpression: condition,
        // Every write uses these reserved words.
        ExpressionAttributeNames: { '#minute': 'minute', '#day': 'day' },
        ExpressionAttributeValues: usedIn(`${update} ${condition}`, values),
        ReturnValues: 'ALL_NEW',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
      signal && { abortSignal: signal },
    );
    return { done: true, usage: z.parse(storedUsage, attributes) };
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error;
    // The document client does not unmarshall the items of errors.
    const item = error.Item && unmarshall(error.Item, { wrapNumbers: true });
    return { done: false, usage: item ? z.parse(storedUsage, item) : unused };
  }
}

/** DynamoDB rejects values that no expression uses. */
function usedIn(expressions: string, values: Values): Values {
  const used = new Set(expressions.match(/:\w+/g));
  return Object.fromEntries(Object.entries(values).filter(([name]) => used.has(name)));
}
