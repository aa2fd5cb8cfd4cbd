import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod/mini';
import {
  decide,
  isRejection,
  type Step,
  suspensionDue,
  suspensionSeconds,
  unused,
  type Usage,
  type Verdict,
  verdictOf,
  windowsAt,
} from './limits.ts';
import type { Limits } from './plans.ts';
import { secondsPerDay } from './windows.ts';

/** The RateLimits table: partition key `keyHash`, time to live `expiresAt`. One item per key. */
export interface LimitTable {
  readonly client: DynamoDBDocumentClient;
  readonly tableName: string;
}

/** How long the item of a key that is no longer used is kept, counted from its last day of use. */
export const usageRetentionDays = 90;

export interface Admission {
  readonly keyHash: string;
  readonly limits: Limits;
  /** Unix seconds, whole. */
  readonly now: number;
  /** Also counts a call to a deprecated operation, in the same write. */
  readonly deprecated?: boolean;
}

/**
 * Asks for one request of a key to be admitted, and counts it. Exact however many functions ask at once:
 * every write is conditional on the state it was decided on. One write in the common case; one more when a
 * window has moved on since the request before, when a request is rejected, or when a write lost a race.
 *
 * @throws whatever DynamoDB throws when it cannot be reached, or the signal's reason when it is aborted, unless a
 * full window has been seen by then
 */
export async function admit(table: LimitTable, admission: Admission, signal?: AbortSignal): Promise<Verdict> {
  const { limits, now } = admission;
  // Nearly always right, and so the stored usage need not be read first.
  let step: Step = { kind: 'count', windows: windowsAt(now) };
  let usage: Usage | undefined;
  for (;;) {
    let written: Written;
    try {
      written = await unlessAborted(write(table, admission, step, usage, signal), signal);
    } catch (error) {
      // What is stored has shown a full window: a rejection that cannot be counted is one all the same.
      if (isRejection(step)) return verdictOf(step, usage ?? unused, limits, now);
      throw error;
    }
    if (written.done) return verdictOf(step, written.usage, limits, now);
    usage = written.usage;
    step = decide(usage ?? unused, limits, now);
    if (step.kind === 'suspended') return verdictOf(step, usage ?? unused, limits, now);
  }
}

/** The SDK heeds a signal while a call is under way, but not while it waits for the next attempt. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

type Written =
  | { readonly done: true; readonly usage: Usage }
  /** The condition did not hold; this is what is stored instead, `undefined` where nothing is. */
  | { readonly done: false; readonly usage: Usage | undefined };

async function write(
  table: LimitTable,
  { keyHash, limits, now, deprecated = false }: Admission,
  step: Exclude<Step, { kind: 'suspended' }>,
  guard: Usage | undefined,
  signal: AbortSignal | undefined,
): Promise<Written> {
  const update = new Update(keyHash);
  const { minute, day } = step.windows;
  switch (step.kind) {
    case 'count':
      update.require(`#minute = ${update.value(minute)} AND #day = ${update.value(day)}`);
      update.require(
        `minuteCount < ${update.value(limits.perMinute)} AND dayCount < ${update.value(limits.perDay)}`,
      );
      update.add('minuteCount', 1);
      update.add('dayCount', 1);
      break;
    case 'restart':
      update.requireWindowsOf(guard);
      update.set('minute', minute);
      update.set('minuteCount', 1);
      update.set('rejections', 0);
      if (step.newDay) {
        update.set('day', day);
        update.set('dayCount', 1);
        update.set('expiresAt', day + (usageRetentionDays + 1) * secondsPerDay);
      } else {
        update.require(`dayCount < ${update.value(limits.perDay)}`);
        update.add('dayCount', 1);
      }
      break;
    case 'reject':
      update.requireWindowsOf(guard);
      update.add('rejections', 1);
      break;
    case 'restart-rejecting':
      update.requireWindowsOf(guard);
      update.set('minute', minute);
      update.set('minuteCount', 0);
      update.set('rejections', 1);
      break;
  }
  update.require(`(attribute_not_exists(suspendedUntil) OR suspendedUntil <= ${update.value(now)})`);
  const rejection = isRejection(step);
  if (deprecated && !rejection) update.add('deprecatedCalls', 1);

  const written = await update.send(table, signal);
  const due = written.done && rejection && suspensionDue(written.usage, now);
  return due ? suspend(table, keyHash, written.usage, now, signal) : written;
}

/** Suspends a key whose rejections have reached the threshold. Of several who find so at once, one is first. */
async function suspend(
  table: LimitTable,
  keyHash: string,
  usage: Usage,
  now: number,
  signal: AbortSignal | undefined,
): Promise<Written> {
  const update = new Update(keyHash);
  update.require(`(attribute_not_exists(suspendedUntil) OR suspendedUntil <= ${update.value(now)})`);
  update.set('suspendedUntil', now + suspensionSeconds);
  const written = await update.send(table, signal);
  return { done: true, usage: written.usage ?? usage };
}

/** A conditional update of a key's item, put together part by part. */
class Update {
  readonly #keyHash: string;
  readonly #values: Record<string, number> = {};
  readonly #conditions: string[] = [];
  readonly #sets: string[] = [];
  readonly #adds: string[] = [];

  constructor(keyHash: string) {
    this.#keyHash = keyHash;
  }

  value(value: number): string {
    const name = `:v${Object.keys(this.#values).length}`;
    this.#values[name] = value;
    return name;
  }

  require(condition: string): void {
    this.#conditions.push(condition);
  }

  /** Requires that both windows are those of `usage`: nobody has moved them on meanwhile. */
  requireWindowsOf(usage: Usage | undefined): void {
    for (const window of ['minute', 'day'] as const) {
      const start = usage?.[window] ?? 0;
      this.require(start === 0 ? `attribute_not_exists(#${window})` : `#${window} = ${this.value(start)}`);
    }
  }

  set(attribute: string, value: number): void {
    this.#sets.push(`#${attribute} = ${this.value(value)}`);
  }

  add(attribute: string, value: number): void {
    this.#adds.push(`#${attribute} ${this.value(value)}`);
  }

  async send(table: LimitTable, signal: AbortSignal | undefined): Promise<Written> {
    const clauses = [
      ...(this.#sets.length > 0 ? [`SET ${this.#sets.join(', ')}`] : []),
      ...(this.#adds.length > 0 ? [`ADD ${this.#adds.join(', ')}`] : []),
    ];
    const update = clauses.join(' ');
    const condition = this.#conditions.join(' AND ');
    const names = new Set(`${update} ${condition}`.match(/#\w+/g));
    try {
      const { Attributes: attributes } = await table.client.send(
        new UpdateCommand({
          TableName: table.tableName,
          Key: { keyHash: this.#keyHash },
          UpdateExpression: update,
          ConditionExpression: condition,
          ExpressionAttributeNames: Object.fromEntries([...names].map((name) => [name, name.slice(1)])),
          ExpressionAttributeValues: this.#values,
          ReturnValues: 'ALL_NEW',
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        }),
        signal && { abortSignal: signal },
      );
      return { done: true, usage: z.parse(storedUsage, attributes) };
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      // The document client leaves the items of errors as they came.
      const item = error.Item && unmarshall(error.Item, { wrapNumbers: true });
      return { done: false, usage: item && z.parse(storedUsage, item) };
    }
  }
}

// Numbers arrive with their exact digits, see functions/dynamodb.ts.
export const storedNumber = z.pipe(
  z._default(z.object({ value: z.string().check(z.regex(/^\d{1,15}$/)) }), { value: '0' }),
  z.transform(({ value }) => Number(value)),
);

export const storedUsage = z.object({
  minute: storedNumber,
  minuteCount: storedNumber,
  rejections: storedNumber,
  day: storedNumber,
  dayCount: storedNumber,
  suspendedUntil: storedNumber,
});
