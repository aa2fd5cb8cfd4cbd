import * as z from 'zod/mini';
import { AnswerValidator } from '../support/openapi-validator.ts';
import { type Reply } from '../support/lambda.ts';
import type { MemoryTables, Version } from '../support/memory-tables.ts';
import type { Exchange, Invocation } from './gateway.ts';
import type { Call, Fault } from './network.ts';

/*
 * The model of the interface: what each answer may be, given everything that clients sent, the faults that their calls met, and
 * what was stored. It shares no code with the functions, and takes its numbers from docs/interface.md and docs/api.md.
 */

export interface Key {
  readonly token: string;
  readonly keyHash: string;
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

export interface Usage {
  readonly minute: number;
  readonly minuteCount: number;
  readonly day: number;
  readonly dayCount: number;
  readonly rejections?: number;
  readonly rejectedSince?: number;
  readonly rejectedUntil?: number;
  readonly suspendedUntil?: number;
}

export interface History {
  readonly exchanges: readonly Exchange[];
  readonly keys: readonly Key[];
  readonly tables: MemoryTables;
  /** Milliseconds that a read which is not consistent lags at most. */
  readonly lag: number;
  /** Milliseconds that the clock of a new environment is off at most. */
  readonly worstClock: number;
}

/** Milliseconds by which a corrected clock may be off: a `Date` has whole seconds, and every answer takes its time. */
const clockError = 2_000;
const minute = 60_000;
const day = 86_400_000;
const suspension = 600_000;
const rejectionsThatSuspend = 100;
/** After the first 429 of a window, before rejections count. */
const grace = 10_000;
const operationTime = 3_000;
const cacheTime = 60_000;
/** Milliseconds that throttling may add: functions/dynamodb/retry-strategy.ts. */
const throttlingTime = 100;

class Violation extends Error {
  override readonly name = 'Violation';
}

const validator = new AnswerValidator();

/** @throws Violation of the first answer that the interface does not allow */
export function check(history: History): void {
  const { exchanges, keys } = history;
  const keyOf = new Map(keys.map((key) => [key.token, key]));
  const seen = exchanges.map((exchange) => look(exchange, keyOf.get(exchange.sent.token)));
  for (const each of seen) explain(each, () => checkAnswer(each, history));
  for (const key of keys) {
    const ofKey = seen.filter((each) => each.key === key && each.operation !== undefined);
    for (const each of ofKey) explain(each, () => checkLimits(each, ofKey, key, history));
    checkUnique(ofKey);
    checkSuspension(ofKey, key);
  }
  for (const each of seen) explain(each, () => checkReading(each, history));
  checkCreations(seen, history);
}

/** An exchange as the model sees it. */
interface Seen {
  readonly exchange: Exchange;
  readonly key: Key | undefined;
  readonly reply: Reply | undefined;
  readonly operation: Invocation | undefined;
  readonly code: string | undefined;
  readonly log: LogLine | undefined;
  readonly limit: Limit | undefined;
  /** From the arrival at the function to its answer. */
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

function look(exchange: Exchange, key: Key | undefined): Seen {
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
    // Windows end at full minutes, by the clock that counted. A suspension can end at any second.
    const isOther =
      kind === 'suspended' ? length === minute : kind === 'failOpen' && Math.abs(whole - reset) > clockError;
    return { remaining: Number(remaining), reset: isOther ? reset : whole };
  };
  return { kind, minute: windowOf(r1!, t1!, minute), day: windowOf(r2!, t2!, day) };
}

function explain(seen: Seen, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (error instanceof Violation) throw new Violation(`${error.message}\n${describe(seen)}`);
    throw error;
  }
}

/** One request with its calls, for a person. */
function describe({ exchange, operation, reply }: Seen): string {
  const { sent, startedAt, endedAt, answer, authorizer } = exchange;
  const time = (at: number) => (Number.isFinite(at) ? new Date(at).toISOString() : 'never');
  return [
    `${sent.method} ${sent.path} ${JSON.stringify({ ...sent, method: undefined, path: undefined })}`,
    `  from ${time(startedAt)} to ${time(endedAt)}`,
    ...[authorizer, operation].flatMap((invocation) =>
      (invocation?.calls ?? []).map(
        ({ operation: name, sentAt, fate, outcome, input, skewed }) =>
          `  ${invocation!.entry} ${time(sentAt)} ${name} ${fate}${skewed ? ' (skewed)' : ''} ${JSON.stringify(input)}\n    ${outcome}`,
      ),
    ),
    `  answer ${answer.status} ${JSON.stringify(reply?.headers)} ${reply?.text}`,
    ...(operation?.log ?? []).map((line) => `  ${line.trim()}`),
    ...(operation !== undefined && operation.outcome !== 'timedOut' && 'thrown' in operation.outcome
      ? [`  ${String(operation.outcome.thrown)}`]
      : []),
  ].join('\n');
}

function require(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Violation(message);
}

function hasFault(calls: readonly Call[], ...kinds: readonly Fault[]): boolean {
  return calls.some(
    ({ fate, latency = [0, 0] }) =>
      // An answer that comes so late can be too late for the calls that follow.
      latency[0] + latency[1] > 250 ||
      (fate !== 'answered' && (kinds.length === 0 || kinds.some((kind) => kind === fate))),
  );
}

function checkAnswer(seen: Seen, history: History): void {
  const { exchange, key, reply, operation, code, log, from, to } = seen;
  const { sent, answer, authorizer } = exchange;
  if (operation !== undefined) {
    require(operation.outcome !== 'timedOut', 'Lambda ends a function that does not answer in time');
    require('returned' in operation.outcome, 'a function throws');
    require(to - from < operationTime, `the answer takes ${to - from} ms`);
    require(operation.leftOver === 0, 'a call outlives its request');
    require(operation.log.length === 1, `${operation.log.length} log lines`);
    require(log?.status === answer.status, 'the log has another status');
    require((log.level === 'ERROR') === (answer.status >= 500 || log['errors'] !== undefined), 'wrong level');
  }
  if (authorizer !== undefined) {
    require(authorizer.outcome !== 'timedOut', 'the authorizer does not answer in time');
    require(authorizer.leftOver === 0, 'a call outlives the authorizer');
    if ('thrown' in authorizer.outcome)
      require(hasFault(authorizer.calls), 'the authorizer throws without a fault');
  }
  checkAccess(seen, history);
  if (reply === undefined || key === undefined) return;
  checkOrder(seen);

  const violations = validator.violations({
    method: sent.method,
    path: sent.path,
    status: reply.status,
    headers: new Headers(reply.headers),
    text: reply.text,
  });
  require(violations.length === 0, violations.join(', '));
  require(reply.headers['Cache-Control'] === 'no-store', 'the answer can be cached');
  if (reply.status === 503) require(reply.headers['Retry-After'] === '1', '503 without Retry-After');
  const faulty = hasFault(seen.otherCalls);
  if (reply.status === 503) require(faulty, '503 without a fault');
  if (reply.status === 500) {
    // Of an error that nobody knows, only a write says that it may have been done.
    const isUnknown = seen.otherCalls.some(({ outcome }) => outcome?.includes('SomethingNew'));
    require(hasFault(seen.otherCalls, 'denied') ||
      (sent.method === 'GET' && (isUnknown || isMalformed(sent.path, history))), '500 without a cause');
  }
  if (reply.status === 503 && sent.method === 'POST')
    require(/may have been created/.test(reply.text), '503 does not say that the animal may exist');

  // A transient fault is repeated, so a client sees it only if there are more.
  const faulted = seen.otherCalls.filter((call) => hasFault([call]));
  const isSingle =
    faulted.length === 1 && hasFault(faulted, 'lostBefore', 'lostAfter', 'failed', 'throttled');
  if (isSingle && sent.idempotencyKey === undefined)
    require(reply.status !== 503, '503 after one transient fault');
  const attempts = Map.groupBy(seen.otherCalls, ({ input }) => JSON.stringify(input));
  for (const same of attempts.values())
    require(same.filter(({ fate }) => fate === 'throttled').length <=
      2, 'a throttled call is repeated twice');

  // Throttling alone holds no environment.
  const calls = operation!.calls;
  const onlyThrottled = calls.every(({ fate }) => fate === 'answered' || fate === 'throttled');
  if (onlyThrottled && calls.some(({ fate }) => fate === 'throttled') && sent.idempotencyKey === undefined) {
    const waited = to - from - sum(calls.map(({ latency = [0, 0] }) => latency[0] + latency[1]));
    require(waited <= throttlingTime, `throttling holds an environment for ${waited} ms`);
    require(seen.limiterCalls.filter(
      ({ fate, skewed, received }) => fate === 'throttled' && !skewed && received,
    ).length <= 1, 'the limiter repeats a throttled call');
  }

  const expected = expectedOf(seen, history);
  const { status } = reply;
  require(status === 429 ||
    status >= 500 ||
    (status === 401 && code === 'unauthorized') ||
    expected.includes(status), `status ${status} instead of ${expected.join(' or ')}`);
  if (status === 405) require(reply.headers['Allow'] === 'GET, POST', 'another Allow');
}

/** A read is counted at the same time, a write before. What is invalid reads and writes nothing. */
function checkOrder({ exchange: { sent }, reply, operation, limiterCalls, otherCalls }: Seen): void {
  const [first] = otherCalls;
  if (first === undefined) return;
  require(![400, 405, 413, 415].includes(reply!.status), 'an invalid request reaches the animals');
  if (sent.method === 'GET') {
    const isListing = first.operation === 'Query';
    const count = isListing && !sent.query?.some(([name]) => name === 'status') ? 3 : 1;
    require([...limiterCalls.slice(0, 1), ...otherCalls.slice(0, count)].every(
      ({ sentAt }) => sentAt === first.sentAt,
    ), 'calls that could be made at the same time');
  } else {
    require(reply!.status !== 429, 'a rejected request writes');
    require(operation!.calls.indexOf(first) >= limiterCalls.length, 'a request writes before it is counted');
  }
}

/** Milliseconds by which a function may be wrong about the time: without an answer of DynamoDB, it knows only its own clock. */
function errorOf({ limiterCalls, exchange: { authorizer } }: Seen, { worstClock }: History): number {
  return clockError + (hasFault([...limiterCalls, ...(authorizer?.calls ?? [])]) ? worstClock : 0);
}

/** 401 if and only if the key is not valid. The authorizer's answer is cached. */
function checkAccess(seen: Seen, history: History): void {
  const { exchange, key, operation } = seen;
  const error = errorOf(seen, history);
  const { startedAt, endedAt, answer } = exchange;
  const invalidFrom = Math.min(key?.revokedAt ?? 0, key?.expiresAt || Infinity);
  // The functions know when a key expires, so only a revocation waits for the cache.
  const surelyInvalidFrom = Math.min((key?.revokedAt ?? 0) + cacheTime, key?.expiresAt || Infinity);
  if (answer.status === 401)
    require(key === undefined || endedAt >= invalidFrom - error, '401 for a valid key');
  else if (answer.status !== 503 || operation !== undefined)
    require(startedAt <= surelyInvalidFrom + error, `${answer.status} for a key that is not valid`);
}

function expectedOf({ exchange: { sent } }: Seen, { tables }: History): number[] {
  const { method, path } = sent;
  if (method === 'DELETE') return [405];
  if (path === '/pets' && method === 'POST') {
    if (sent.contentType !== undefined) return [415];
    if (sent.body!.length > 65_536) return [413];
    return isValidBody(sent.body!) ? [201, 422] : [400];
  }
  if (path === '/pets') return isValidQuery(new Map(sent.query)) ? [200] : [400];
  if (path.startsWith('/pets/')) return versionsOf(tables, path.slice(6)) === undefined ? [404] : [200, 404];
  return [404];
}

const newPet = z.object({
  name: z.string().check(z.minLength(1)),
  categoryId: z.int(),
  status: z.optional(z.enum(['available', 'pending', 'sold'])),
});

function isValidBody(body: string): boolean {
  return newPet.safeParse(JSON.parse(body)).success;
}

function isValidQuery(query: ReadonlyMap<string, string>): boolean {
  const [limit, status] = [query.get('limit') ?? '1', query.get('status') ?? 'sold'];
  return Number(limit) >= 1 && Number(limit) <= 100 && /^(available|pending|sold)$/.test(status);
}

// Limits.

/** Counts that may be of a request: a lost answer can count twice, and a key that expires is counted before it gets 401. */
function countsUncertain({ limit, limiterCalls }: Seen): number {
  return limiterCalls.filter(({ applied, received }) => applied && (limit === undefined || !received)).length;
}

function checkLimits(seen: Seen, all: readonly Seen[], key: Key, history: History): void {
  const { limit, reply, from, to, limiterCalls, code } = seen;
  if (reply === undefined) return;
  if (limit === undefined) {
    require(code === 'unauthorized', 'nothing is said of the limit');
    const zeros = ['Limit', 'Remaining', 'Reset'].every(
      (name) => reply.headers[`X-RateLimit-${name}`] === '0',
    );
    require(zeros && reply.headers['RateLimit'] === undefined, 'limits of a key that is not valid');
    return;
  }
  const { kind } = limit;
  const inForce = numbersOf(reply);
  // The limiter can be long done when the operation is.
  const slack = (kind === 'failOpen' ? errorOf(seen, history) : clockError) + to - from;
  require((reply.status === 429) === (kind === 'rejected' || kind === 'suspended'), 'the log says otherwise');
  if (reply.status === 429)
    require(code === (kind === 'rejected' ? 'rate_limit_exceeded' : 'key_suspended'), `code ${code}`);

  // Headers.
  const windows = [
    { ...limit.minute, name: 'minute', limit: key.perMinute, length: minute },
    { ...limit.day, name: 'day', limit: key.perDay, length: day },
  ] as const;
  const shown = windows.find(
    (each) =>
      each.remaining === inForce.remaining &&
      each.limit === inForce.limit &&
      Math.abs(each.reset - inForce.reset) <= slack,
  );
  require(shown !== undefined, 'X-RateLimit-* shows no window');
  require(windows.every(
    (each) => each.remaining >= inForce.remaining,
  ), 'X-RateLimit-* shows a window with more left');
  require(reply.headers['RateLimit-Policy'] ===
    `"minute";q=${key.perMinute};w=60, "day";q=${key.perDay};w=86400`, 'another policy');
  for (const { reset, length } of windows) {
    if (kind === 'suspended' && length === minute) continue;
    require(reset > from - slack &&
      reset <= to + length + slack, `a window that ends at ${new Date(reset).toISOString()}`);
  }
  if (reply.status === 429) {
    const retryAfter = Number(reply.headers['Retry-After']);
    require(inForce.remaining === 0, '429 with requests left');
    require(retryAfter >= 1, `Retry-After ${reply.headers['Retry-After']}`);
    require(Math.abs(to + retryAfter * 1000 - inForce.reset) <= slack, 'Retry-After is not the reset');
    require(to + retryAfter * 1000 >= inForce.reset - clockError, 'Retry-After is before the reset');
    const last = Math.max(...windows.filter(({ remaining }) => remaining === 0).map(({ reset }) => reset));
    require(Math.abs(last - inForce.reset) <= slack, 'a retry after Retry-After would be rejected');
  }

  const isUncounted = hasFault(limiterCalls);
  // What the same execution environment knew before.
  const earlier = all.filter(
    (each) => each !== seen && each.operation?.environment === seen.operation?.environment && each.to <= from,
  );
  if (kind === 'failOpen') {
    require(isUncounted, 'not counted without a fault');
    for (const { reset, limit: most, name } of windows) {
      const uncounted = earlier.filter(
        (each) => each.limit?.kind === 'failOpen' && each.limit[name].reset === reset,
      );
      require(uncounted.length <
        most, `admitted, although ${uncounted.length} requests were admitted uncounted`);
      require(!earlier.some((each) =>
        isOver(each, name, to + errorOf(seen, history)),
      ), 'admitted, although its environment knows better');
    }
    return;
  }
  // How much of each window may be used, and is used for certain.
  for (const name of ['minute', 'day'] as const) {
    const length = name === 'minute' ? minute : day;
    const most = key[name === 'minute' ? 'perMinute' : 'perDay'];
    const { reset, remaining } = limit[name];
    if (kind === 'suspended' && name === 'minute') continue;
    const others = all.filter((each) => each !== seen);
    const certain = others.filter(
      (each) => each.limit?.kind === 'admitted' && each.to < from && each.limit[name].reset === reset,
    ).length;
    const possible = sum(
      others
        .filter((each) => each.from <= to && each.to >= reset - length - clockError)
        .map(
          (each) =>
            (each.limit?.kind === 'admitted' && each.limit[name].reset === reset ? 1 : 0) +
            countsUncertain(each) +
            (isUncounted && each.limit?.kind === 'failOpen' && earlier.includes(each) ? 1 : 0),
        ),
    );
    const stored = key.before?.[name] === reset / 1000 - length / 1000 ? key.before[`${name}Count`] : 0;
    const own = stored + (kind === 'admitted' ? 1 : 0);
    const used = most - remaining;
    // Without an answer of the table, an environment knows nothing of what the others count.
    require(isUncounted ||
      used >= Math.min(most, certain + own), `${name}: shows ${used} used of at least ${certain + own}`);
    require(used <=
      possible + own + countsUncertain(seen), `${name}: shows ${used} used of at most ${possible + own}`);
  }
}

function numbersOf({ headers }: Reply) {
  return {
    limit: Number(headers['X-RateLimit-Limit']),
    remaining: Number(headers['X-RateLimit-Remaining']),
    reset: Number(headers['X-RateLimit-Reset']) * 1000,
  };
}

/** Whether the answer says that a window is full, or the key suspended, until after a time. */
function isOver({ limit }: Seen, name: 'minute' | 'day', time: number): boolean {
  return limit !== undefined && limit[name].remaining === 0 && limit[name].reset > time;
}

/** No two requests are counted as the same one: so none over the limit is admitted. */
function checkUnique(all: readonly Seen[]): void {
  const counted = new Set<string>();
  for (const each of all) {
    if (each.limit?.kind !== 'admitted') continue;
    for (const name of ['minute', 'day'] as const) {
      const { reset, remaining } = each.limit[name];
      const number = `${name} ${reset} ${remaining}`;
      explain(each, () => require(!counted.has(number), `two requests are counted as ${number}`));
      counted.add(number);
    }
  }
}

/** A key is suspended for what it sends after it could know, and not for what was on its way. */
function checkSuspension(all: readonly Seen[], key: Key): void {
  const rejected = all.filter(({ limit }) => limit?.kind === 'rejected');
  const firstOf = (each: Seen) =>
    rejected
      .filter((other) => sameReset(other, each))
      .reduce((first, other) => (other.from < first.from ? other : first), each);
  const stored = key.before?.rejectedSince;
  const rejections = all.map((each) => {
    const isRejected = each.limit?.kind === 'rejected';
    const first = firstOf(each);
    const since =
      stored === undefined ? { from: first.from, to: first.to } : { from: stored * 1000, to: stored * 1000 };
    return {
      each,
      mayCount:
        (each.limit?.kind === 'suspended' || (isRejected && each.to >= since.from + grace - clockError)
          ? 1
          : 0) + countsUncertain(each),
      counts: isRejected && !hasFault(each.limiterCalls) && each.from >= since.to + grace + clockError,
    };
  });
  const before = key.before?.rejections ?? 0;
  for (const { each } of rejections) {
    const { limit, from, to } = each;
    const byOperator = key.suspensions.some((it) => it.from <= to && it.until >= from - clockError);
    const recent = rejections.filter(
      ({ each: other }) => other.from <= to && other.to >= from - suspension - minute - clockError,
    );
    const most = Math.max(
      ...recent.map(({ each: first }) => {
        const end = first.from + minute + clockError;
        const within = recent.filter(({ each: other }) => other.to >= first.from && other.from <= end);
        return before + sum(within.map(({ mayCount }) => mayCount));
      }),
    );
    if (limit?.kind !== 'suspended' || byOperator) continue;
    explain(each, () => {
      require(most >= rejectionsThatSuspend, `suspended after at most ${most} rejections`);
      const isFirst = !all.some(
        (other) => other.limit?.kind === 'suspended' && other.from < to && other !== each,
      );
      require(!isFirst ||
        limit.minute.reset >= from + suspension - clockError, 'suspended for too short a time');
    });
  }
  for (const inMinute of Map.groupBy(
    rejections.filter(({ counts }) => counts),
    ({ each }) => Math.floor(each.from / minute),
  ).values()) {
    const last = inMinute.map(({ each }) => each.to).toSorted((a, b) => a - b)[rejectionsThatSuspend - 1];
    if (
      last === undefined ||
      inMinute.some(({ each }) => Math.floor(each.to / minute) !== Math.floor(each.from / minute))
    )
      continue;
    for (const each of all)
      if (each.from > last && each.to < last + suspension - clockError)
        explain(each, () => require(isSuspended(each), `served after ${rejectionsThatSuspend} rejections`));
  }
  for (const { from, until } of key.suspensions)
    for (const each of all)
      if (each.from > from && each.to < until - clockError)
        explain(each, () => require(isSuspended(each), 'served although the operator suspended the key'));
}

function isSuspended({ limit, limiterCalls }: Seen): boolean {
  return limit === undefined || limit.kind === 'suspended' || hasFault(limiterCalls);
}

function sameReset(a: Seen, b: Seen): boolean {
  return a.reply?.headers['X-RateLimit-Reset'] === b.reply?.headers['X-RateLimit-Reset'];
}

// Animals.

interface Pet {
  readonly id: bigint;
  readonly name: string;
  readonly categoryId: bigint;
  readonly status: string;
}

const storedPet = z.object({ id: z.bigint(), name: z.string(), categoryId: z.bigint(), status: z.string() });

function petOf({ item }: Version): Pet | 'malformed' | undefined {
  if (item === undefined) return undefined;
  const { id, name, categoryId, status } = item;
  if (name?.S === undefined || categoryId?.N === undefined) return 'malformed';
  return { id: BigInt(id!.N!), name: name.S, categoryId: BigInt(categoryId.N), status: status!.S! };
}

function versionsOf(tables: MemoryTables, id: string): readonly Version[] | undefined {
  return tables.versions('Pets').find((versions) => versions[0]!.item!['id']!.N === id);
}

function isMalformed(path: string, { tables }: History): boolean {
  return versionsOf(tables, path.slice(6))?.some((version) => petOf(version) === 'malformed') ?? false;
}

/** What an animal was at some time between two times. */
function statesWithin(
  versions: readonly Version[],
  from: number,
  to: number,
): (Pet | 'malformed' | undefined)[] {
  const first = versions.findLastIndex(({ since }) => since <= from);
  return [
    ...(first < 0 ? [undefined] : []),
    ...versions
      .slice(Math.max(0, first))
      .filter(({ since }) => since <= to)
      .map(petOf),
  ];
}

function isSame(a: Pet, b: Pet | 'malformed' | undefined): boolean {
  return (
    b !== undefined &&
    b !== 'malformed' &&
    a.id === b.id &&
    a.name === b.name &&
    a.categoryId === b.categoryId &&
    a.status === b.status
  );
}

function checkReading(seen: Seen, history: History): void {
  const { exchange, reply, from, to } = seen;
  const { sent } = exchange;
  const { tables, lag } = history;
  if (reply === undefined || sent.method !== 'GET') return;
  if (sent.path.startsWith('/pets/') && (reply.status === 200 || reply.status === 404)) {
    const states = statesWithin(versionsOf(tables, sent.path.slice(6)) ?? [], from, to);
    if (reply.status === 404) require(states.includes(undefined), 'an animal that exists is not found');
    else
      require(states.some((state) =>
        isSame(z.parse(storedPet, reply.body), state),
      ), 'an animal that is not stored');
  }
  if (sent.path !== '/pets' || reply.status !== 200) return;
  const query = new Map(sent.query);
  const limit = Number(query.get('limit') ?? 20);
  const status = query.get('status');
  const before = query.has('cursor') ? positionOf(query.get('cursor')!) : undefined;
  const page = z.parse(z.array(storedPet), reply.body);
  require(page.length <= limit, 'more animals than the limit');
  for (const [index, pet] of page.entries()) {
    require(index === 0 || pet.id < page[index - 1]!.id, 'not newest first, or twice');
    require(status === undefined || pet.status === status, 'an animal with another status');
    require(before === undefined || pet.id < before, 'an animal of an earlier page');
    const states = statesWithin(versionsOf(tables, String(pet.id)) ?? [], from - lag, to);
    require(states.some((state) => isSame(pet, state)), `animal ${pet.id} is not stored like this`);
  }
  const next = /[?&]cursor=([^&>]+)/.exec(reply.headers['Link'] ?? '')?.[1];
  const end = next === undefined ? undefined : positionOf(next);
  let all = 0;
  for (const versions of tables.versions('Pets')) {
    const states = statesWithin(versions, from - lag, to);
    if (
      !states.every(
        (state) =>
          state !== undefined && state !== 'malformed' && (status === undefined || state.status === status),
      )
    )
      continue;
    const { id } = states[0] as Pet;
    if ((before !== undefined && id >= before) || (end !== undefined && id < end)) continue;
    // An animal whose status changes can be between two partitions.
    if (status === undefined && new Set(states.map((state) => (state as Pet).status)).size > 1) continue;
    all += 1;
    require(page.some((pet) => pet.id === id), `animal ${id} is missing`);
  }
  if (next !== undefined && lag === 0 && all === page.length) require(page.length > 0, 'an empty page');
}

/** Of a cursor: functions/pets/cursor.ts. */
function positionOf(cursor: string): bigint {
  return Buffer.from(cursor, 'base64url').readBigInt64BE(2);
}

function checkCreations(all: readonly Seen[], history: History): void {
  const { tables } = history;
  const stored = tables.versions('Pets').flatMap((versions) => {
    const pet = petOf(versions[0]!);
    return pet === undefined || pet === 'malformed' ? [] : [{ pet, at: versions[0]!.since }];
  });
  // Every body has a name of its own.
  const byName = Map.groupBy(stored, ({ pet }) => pet.name);
  const creations = all.filter(
    ({ exchange: { sent }, operation }) =>
      sent.method === 'POST' && operation !== undefined && !sent.body!.startsWith(' '),
  );
  const groups = Map.groupBy(creations, ({ exchange: { sent } }) =>
    sent.idempotencyKey === undefined ? `${sent.body}` : `${sent.token} ${sent.idempotencyKey}`,
  );
  const known = new Set<string>();
  for (const group of groups.values()) {
    const names = new Set(group.map(({ exchange: { sent } }) => nameOf(sent.body!)));
    for (const name of names) known.add(name);
    const pets = [...names].flatMap((name) => byName.get(name) ?? []).toSorted((a, b) => a.at - b.at);
    for (const each of group) explain(each, () => checkCreation(each, group, pets, history));
    for (const [index, { at }] of pets.entries()) {
      if (index > 0)
        explain(group.at(-1)!, () =>
          require(at - pets[index - 1]!.at >= day - clockError, `${pets.length} animals of one creation`),
        );
    }
  }
  for (const { pet } of stored) {
    if (pet.name.startsWith('seed')) continue;
    require(known.has(pet.name), `nobody created animal ${pet.id}`);
  }
}

function nameOf(body: string): string {
  return String((JSON.parse(body.slice(0, 1000)) as { name?: unknown }).name);
}

type Stored = { readonly pet: Pet; readonly at: number };

function checkCreation(seen: Seen, group: readonly Seen[], pets: readonly Stored[], history: History): void {
  const { exchange, reply, from, to, log, code } = seen;
  const { sent } = exchange;
  if (reply === undefined) return;
  const name = nameOf(sent.body!);
  const own = pets.filter(({ pet }) => pet.name === name);
  if (reply.status === 201) {
    const pet = z.parse(storedPet, reply.body);
    const wanted = JSON.parse(sent.body!) as { categoryId: number; status?: string };
    require(pet.name === name &&
      pet.categoryId === BigInt(wanted.categoryId) &&
      pet.status === (wanted.status ?? 'available'), 'another animal');
    const match = own.find((each) => each.pet.id === pet.id);
    require(match !== undefined, 'the animal is not stored');
    require(reply.headers['Location'] === `https://api.example.com/v1/pets/${pet.id}`, 'another Location');
    require(pet.id > 0n && pet.id < 2n ** 53n, 'an ID that is not exact');
    const replayed = reply.headers['Idempotency-Replayed'] === 'true';
    require((log?.PetsCreated === 1) === !replayed &&
      (log?.CreationsReplayed === 1) === replayed, 'the log counts otherwise');
    if (replayed) {
      require(sent.idempotencyKey !== undefined, 'replayed without a key');
      require(match.at >= from - day - clockError, 'replayed after a day');
      require(group.length > 1 || hasFault(seen.otherCalls), 'replayed at first');
    } else {
      require(match.at >= from && match.at <= to, 'created at another time');
      const madeAt = Date.UTC(2026, 0, 1) + Number(pet.id >> 12n);
      const error = errorOf(seen, history);
      require(madeAt >= from - error && madeAt <= to + error, `an ID of ${new Date(madeAt).toISOString()}`);
      const twice = group.filter(
        (each) =>
          each !== seen &&
          each.reply?.status === 201 &&
          each.reply.headers['Idempotency-Replayed'] === undefined &&
          z.parse(storedPet, each.reply.body).id === pet.id,
      );
      require(twice.length === 0, 'created twice');
    }
    return;
  }
  const others = pets.filter(({ pet, at }) => pet.name !== name && at <= to && at >= from - day - clockError);
  if (code === 'idempotency_key_reused') require(others.length > 0, '422 without another body');
  const createdNow = own.filter(({ at }) => at >= from);
  // Nothing but a 503 leaves open whether the animal exists.
  if (reply.status !== 503 && group.length === 1)
    require(createdNow.length === 0, `${reply.status}, but the animal exists`);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
