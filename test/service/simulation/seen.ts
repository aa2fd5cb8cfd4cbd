import * as z from 'zod/mini';
import { type Reply } from '../../support/lambda.ts';
import type { Tables } from 'dynamodb-interleavings';
import type { Evaluations } from '../evaluations.ts';
import type { Exchange, Invocation } from './gateway.ts';
import type { Call, Fault } from 'dynamodb-interleavings';

/** What the model of the interface looks at. */

export interface Key {
  /** What a person calls it. */
  readonly name: string;
  readonly token: string;
  readonly keyHash: string;
  readonly plan: string;
  readonly perMinute: number;
  readonly perDay: number;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
  /** When the operator revoked it. */
  revokedAt: number;
  /** When the operator suspended it, and until when. */
  readonly suspensions: { readonly from: number; readonly until: number }[];
  /** What was stored of it before. Unix seconds. */
  readonly before?: Usage;
}

interface Usage {
  readonly minute: number;
  readonly minuteCount: number;
  readonly day: number;
  readonly dayCount: number;
  readonly rejections?: number;
  readonly rejectedSince?: number;
  readonly suspendedUntil?: number;
}

export interface History {
  readonly exchanges: readonly Exchange[];
  readonly keys: readonly Key[];
  readonly tables: Tables;
  readonly evaluations: Evaluations;
  /** Milliseconds that a read which is not consistent lags at most. */
  readonly lag: number;
  /** Whether an answer of a query has fewer items than fit in a page. */
  readonly shortQueries: boolean;
  /** What else happened, for a person. */
  readonly events: readonly { readonly at: number; readonly text: string }[];
}

/** Milliseconds: times of the interface have whole seconds. */
export const rounding = 1_000;
export const minute = 60_000;
export const day = 86_400_000;

/** An answer that the interface does not allow. */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly exchange: Exchange | undefined;

  constructor(message: string, exchange?: Exchange) {
    super(message);
    this.exchange = exchange;
  }

  /** The message without its numbers: the same for the same rule. */
  get kind(): string {
    return this.message.replaceAll(/\d+/g, '');
  }
}

export function ensure(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Violation(message);
}

/** @throws Violation of this exchange */
export function within(exchange: Exchange, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw error instanceof Violation ? new Violation(error.message, error.exchange ?? exchange) : error;
  }
}

/** An exchange as the model sees it. */
export interface Seen {
  readonly exchange: Exchange;
  readonly key: Key | undefined;
  readonly reply: Reply | undefined;
  readonly operation: Invocation | undefined;
  readonly code: string | undefined;
  readonly log: LogLine | undefined;
  readonly limit: Limit | undefined;
  /** When it arrived at the function. */
  readonly from: number;
  readonly to: number;
  readonly limiterCalls: readonly Call[];
  readonly otherCalls: readonly Call[];
}

interface Limit {
  readonly kind: 'admitted' | 'failOpen' | 'rejected' | 'suspended';
  readonly minute: Window;
  readonly day: Window;
}

interface Window {
  readonly remaining: number;
  /** Milliseconds since the Unix epoch. */
  readonly reset: number;
}

const logLine = z.looseObject({
  status: z.number(),
  level: z.string(),
  operation: z.string(),
  RequestsAdmitted: z.optional(z.number()),
  RequestsRejected: z.optional(z.number()),
  RequestsSuspended: z.optional(z.number()),
  LimiterFailOpen: z.optional(z.number()),
  PetsCreated: z.optional(z.number()),
  CreationsReplayed: z.optional(z.number()),
});
type LogLine = z.infer<typeof logLine>;

export function look(exchange: Exchange, key: Key | undefined): Seen {
  const { answer, operation } = exchange;
  const reply = answer.headers === undefined ? undefined : answer;
  const line = operation?.log[0];
  const log = line === undefined ? undefined : z.parse(logLine, JSON.parse(line));
  const calls = operation?.calls ?? [];
  return {
    exchange,
    key,
    reply,
    operation,
    code: reply && reply.status >= 400 ? String((reply.body as { code: unknown }).code) : undefined,
    log,
    limit: reply && log && limitOf(reply, log, exchange.endedAt),
    from: operation?.startedAt ?? exchange.startedAt,
    to: operation?.endedAt ?? exchange.endedAt,
    limiterCalls: calls.filter(({ table }) => table === 'RateLimits'),
    otherCalls: calls.filter(({ table }) => table !== 'RateLimits'),
  };
}

function limitOf({ headers }: Reply, log: LogLine, endedAt: number): Limit | undefined {
  const kind =
    log.RequestsAdmitted === 1
      ? 'admitted'
      : log.RequestsRejected === 1
        ? 'rejected'
        : log.RequestsSuspended === 1
          ? 'suspended'
          : log.LimiterFailOpen === 1
            ? 'failOpen'
            : undefined;
  if (kind === undefined) return undefined;
  const [, r1, t1, r2, t2] = /"minute";r=(\d+);t=(\d+), "day";r=(\d+);t=(\d+)/.exec(headers['RateLimit']!)!;
  const windowOf = (remaining: string, seconds: string, length: number): Window => {
    const reset = endedAt + Number(seconds) * 1000;
    const whole = Math.round(reset / length) * length;
    // Windows end at full minutes. A suspension can end at any second.
    return { remaining: Number(remaining), reset: kind === 'suspended' && length === minute ? reset : whole };
  };
  return { kind, minute: windowOf(r1!, t1!, minute), day: windowOf(r2!, t2!, day) };
}

export function hasFault(calls: readonly Call[], ...kinds: readonly Fault[]): boolean {
  return calls.some(
    ({ fate, outcome, latency = [0, 0] }) =>
      // An answer that comes so late can be too late for the calls that follow.
      latency[0] + latency[1] > 250 ||
      // It was applied, and its client has given it up.
      (kinds.length === 0 && outcome === undefined) ||
      (fate !== 'answered' && (kinds.length === 0 || kinds.some((kind) => kind === fate))),
  );
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
