import type { Reply } from '../support/lambda.ts';
import type { Call, Item } from 'dynamodb-interleavings';
import { AnswerValidator } from '../support/openapi-validator.ts';
import { allowedMethods, type FunctionEntry } from '../../functions/operations.ts';
import { routeOf } from '../support/events.ts';
import { tableAccess } from '../../lib/table-access.ts';
import { titleCase } from '../../lib/title-case.ts';
import { animals } from './animals.ts';
import type { Resource } from './resource.ts';
import {
  day,
  explain,
  hasFault,
  type History,
  itemTold,
  type Key,
  look,
  minute,
  require,
  rounding,
  type Seen,
  sum,
} from './seen.ts';

/*
 * The model of the interface: what each answer may be, given everything that clients sent, the faults that their calls met, and
 * what was stored. It shares no code with the functions, and takes its numbers from docs/interface.md and docs/api.md.
 */

const suspension = 600_000;
/** Rejections a second that suspend a key with up to 108 requests a minute, and for how long they are counted at least. */
const suspendingRate = 4.5;
const shortestCount = 30_000;
/** After the first 429 of a minute, before rejections count. */
const grace = 10_000;
/** Seconds. */
const longestRetryAfter = 86_400;
const operationTime = 3_000;
/** Milliseconds of it that are reserved for the answer, which takes none here: functions/runtime/deadline.ts. */
const timeToAnswer = 300;
const cacheTime = 60_000;
/** Milliseconds that throttling may add: functions/dynamodb/retry-strategy.ts. */
const throttlingTime = 100;

const validator = new AnswerValidator();

export const resources: readonly Resource[] = [animals];

export function resourceOf(path: string): Resource | undefined {
  return resources.find((each) => `${path}/`.startsWith(`${each.path}/`));
}

/** @throws Violation of the first answer that the interface does not allow */
export function check(history: History): void {
  const { exchanges, keys } = history;
  const keyOf = new Map(keys.map((key) => [key.token, key]));
  const seen = exchanges.map((exchange) => look(exchange, keyOf.get(exchange.sent.token)));
  for (const each of seen) explain(each, () => checkAnswer(each, history));
  for (const key of keys) {
    const ofKey = seen.filter((each) => each.key === key && each.operation !== undefined);
    for (const each of ofKey) explain(each, () => checkLimits(each, ofKey, key));
    checkUnique(ofKey);
    checkSuspension(ofKey, key);
    checkDeprecatedCalls(ofKey, key, history);
  }
  const byResource = Map.groupBy(seen, ({ exchange: { sent } }) => resourceOf(sent.path));
  for (const [resource, ofResource] of byResource) resource?.check(ofResource, history);
  checkExpiry(history);
}

function checkAnswer(seen: Seen, history: History): void {
  const { exchange, key, reply, operation, code, log, from, to } = seen;
  const { sent, answer, authorizer } = exchange;
  if (operation !== undefined) {
    require(operation.outcome !== 'timedOut', 'Lambda ends a function that does not answer in time');
    require('returned' in operation.outcome, 'a function throws');
    require(to - from <= operationTime - timeToAnswer, `the answer takes ${to - from} ms`);
    require(operation.leftOver === 0, 'a call outlives its request');
    require(operation.log.length === 1, `${operation.log.length} log lines`);
    require(log?.status === answer.status, 'the log has another status');
    require(!/[0-9a-f]{64}/.test(operation.log.join('')), 'the log has the hash of a key');
    require((log.level === 'ERROR') === (answer.status >= 500 || log['errors'] !== undefined), 'wrong level');
  }
  if (authorizer !== undefined) {
    require(authorizer.outcome !== 'timedOut', 'the authorizer does not answer in time');
    require(authorizer.leftOver === 0, 'a call outlives the authorizer');
    if ('thrown' in authorizer.outcome)
      require(hasFault(authorizer.calls), 'the authorizer throws without a fault');
  }
  for (const { entry, calls } of [authorizer, operation].filter((each) => each !== undefined))
    for (const call of calls)
      require(isPermitted(entry, call), `${entry} may not call ${call.operation} of ${call.table}`);
  checkAccess(seen);
  require(answer.status !== 403, 'the policy of the authorizer is for another route');
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
  require(reply.headers['WWW-Authenticate'] === undefined, 'a challenge, which API Gateway renames');
  if (reply.status === 503) require(reply.headers['Retry-After'] === '1', '503 without Retry-After');
  const resource = resourceOf(sent.path);
  const faulty = hasFault(seen.otherCalls);
  if (reply.status === 503) require(faulty, '503 without a fault');
  if (reply.status === 500) {
    // Of an error that nobody knows, only a write says that it may have been done.
    const isUnknown = seen.otherCalls.some(({ outcome }) => outcome?.includes('SomethingNew'));
    require(hasFault(seen.otherCalls, 'denied') ||
      (sent.method === 'GET' && isUnknown) ||
      resource?.isMalformed(sent, history) === true, '500 without a cause');
  }
  if (reply.status === 503 && sent.method !== 'GET')
    require(/may have been/.test(reply.text), '503 does not say that something may be written');

  // A transient fault is repeated, so a client sees it only if there are more.
  const faulted = seen.otherCalls.filter((call) => hasFault([call]));
  const repeated = ['answered', 'lostBefore', 'lostAfter', 'failed', 'throttled'];
  const isSingle = faulted.length === 1 && repeated.includes(faulted[0]!.fate!);
  if (isSingle && sent.idempotencyKey === undefined)
    require(reply.status !== 503, '503 after one transient fault');
  const attempts = Map.groupBy(seen.otherCalls, ({ input }) => JSON.stringify(input));
  for (const same of attempts.values())
    require(same.filter(({ fate, received }) => fate === 'throttled' && received).length <=
      2, 'a throttled call is repeated twice');

  // Throttling alone holds no environment.
  const calls = operation!.calls;
  const onlyThrottled = calls.every(({ fate }) => fate === 'answered' || fate === 'throttled');
  if (onlyThrottled && calls.some(({ fate }) => fate === 'throttled') && sent.idempotencyKey === undefined) {
    const waited = to - from - sum(calls.map(({ sentAt, endedAt = to }) => endedAt - sentAt));
    require(waited <= throttlingTime, `throttling holds an environment for ${waited} ms`);
    require(seen.limiterCalls.filter(({ fate, received }) => fate === 'throttled' && received).length <=
      1, 'the limiter repeats a throttled call');
  }

  const expected = resource?.expectedOf(sent, history) ?? [404];
  const { status } = reply;
  if (sent.method !== 'GET' && status >= 400 && status < 500)
    require(!seen.otherCalls.some(({ applied }) => applied), 'refused, although it was done');
  require(status === 429 ||
    status >= 500 ||
    (status === 401 && code === 'unauthorized') ||
    expected.includes(status), `status ${status} instead of ${expected.join(' or ')}`);
  if (status === 405) {
    const allow = reply.headers['Allow'];
    const methods = allowedMethods().get(routeOf(sent.path).resource)?.join(', ');
    // An earlier version can have other operations.
    const isEarlier = / of /.test(seen.operation!.environment.name);
    require(isEarlier ? !allow?.includes(sent.method) : allow === methods, 'another Allow');
  }
}

/** Whether the role of a function, which all its versions share, permits a call. */
function isPermitted(entry: FunctionEntry, { operation, table, input }: Call): boolean {
  const { IndexName: index } = input as { readonly IndexName?: string };
  return tableAccess(entry).some(
    (access) =>
      titleCase(access.table) === table &&
      access.calls.some((call) => call === operation) &&
      (index === undefined ? access.indexes === undefined : access.indexes?.includes(index)),
  );
}

/** A read is counted at the same time, a write before. What is invalid reads and writes nothing. */
function checkOrder({ exchange: { sent }, reply, operation, limiterCalls, otherCalls }: Seen): void {
  const [first] = otherCalls;
  if (first === undefined) return;
  require(![400, 405, 413, 415].includes(reply!.status), 'an invalid request reaches the items');
  if (sent.method === 'GET')
    require(limiterCalls
      .slice(0, 1)
      .every(({ sentAt }) => sentAt === first.sentAt), 'calls that could be made at the same time');
  else {
    require(reply!.status !== 429, 'a rejected request writes');
    require(operation!.calls.indexOf(first) >= limiterCalls.length, 'a request writes before it is counted');
  }
}

/** 401 if and only if the key is not valid. The authorizer's answer is cached. */
function checkAccess({ exchange, key, operation }: Seen): void {
  const { startedAt, endedAt, answer } = exchange;
  const invalidFrom = Math.min(key?.revokedAt ?? 0, key?.expiresAt || Infinity);
  // The functions know when a key expires, so only a revocation waits for the cache.
  const surelyInvalidFrom = Math.min((key?.revokedAt ?? 0) + cacheTime, key?.expiresAt || Infinity);
  if (answer.status === 401)
    require(key === undefined || endedAt >= invalidFrom - rounding, '401 for a valid key');
  else if (answer.status !== 503 || operation !== undefined)
    require(startedAt <= surelyInvalidFrom + rounding, `${answer.status} for a key that is not valid`);
  // To the second: the function has the time of the key, and its clock.
  if (operation !== undefined && key?.expiresAt)
    require((answer.status === 401) ===
      operation.startedAt >= key.expiresAt, 'another time than that of the key');
}

// Limits.

/** Counts that may be of a request: a lost answer can count twice, and a key that expires is counted before it gets 401. */
function countsUncertain({ limit, limiterCalls }: Seen): number {
  return limiterCalls.filter(({ applied, received }) => applied && (limit === undefined || !received)).length;
}

function checkLimits(seen: Seen, all: readonly Seen[], key: Key): void {
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
  const slack = rounding + to - from;
  require((reply.status === 429) === (kind === 'rejected' || kind === 'suspended'), 'the log says otherwise');
  if (reply.status === 429)
    require(code === (kind === 'rejected' ? 'rate_limit_exceeded' : 'key_suspended'), `code ${code}`);

  // Headers.
  const windows = [
    { ...limit.minute, name: 'minute', limit: key.perMinute, length: minute },
    { ...limit.day, name: 'day', limit: key.perDay, length: day },
  ] as const;
  const [ofMinute, ofDay] = windows;
  const left = ofDay.remaining - ofMinute.remaining;
  // If both are full, a retry after the first one resets would be rejected.
  const isDay = left < 0 || (left === 0 && ofDay.remaining === 0 && ofDay.reset > ofMinute.reset);
  const expected = isDay ? ofDay : ofMinute;
  require(expected.limit === inForce.limit &&
    expected.remaining === inForce.remaining &&
    Math.abs(expected.reset - inForce.reset) <= slack, `X-RateLimit-* does not show the ${expected.name}`);
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
    require(retryAfter >= 1, `Retry-After ${retryAfter}`);
    require(kind === 'rejected' ||
      retryAfter <= longestRetryAfter, `Retry-After ${retryAfter} of a suspension`);
    require(Math.abs(to + retryAfter * 1000 - inForce.reset) <= slack, 'Retry-After is not the reset');
    require(to + retryAfter * 1000 >= inForce.reset - rounding, 'Retry-After is before the reset');
  }

  const isUncounted = hasFault(limiterCalls);
  // What the same execution environment knew before. A request that was sent later can be there first, if its key is cached.
  const earlier = all.filter(
    (each) =>
      each.operation?.environment === seen.operation?.environment &&
      each.to <= from &&
      (each.from < to || each.exchange.number < seen.exchange.number),
  );
  if (kind === 'failOpen') {
    require(isUncounted, 'not counted without a fault');
    require(seen.log!['errors'] !== undefined, 'the log does not say why a request is not counted');
    require(!limiterCalls.some((call) =>
      isFullBy(itemTold(call), seen, key),
    ), 'admitted, although it was told otherwise');
    for (const { reset, limit: most, name } of windows) {
      const uncounted = earlier.filter(
        (each) => each.limit?.kind === 'failOpen' && each.limit[name].reset === reset,
      );
      require(uncounted.length <
        most, `admitted, although ${uncounted.length} requests were admitted uncounted`);
      require(!earlier.some((each) =>
        isOver(each, name, to + rounding),
      ), 'admitted, although its environment knows better');
    }
    return;
  }
  // How much of each window may be used, and is used for certain.
  for (const name of ['minute', 'day'] as const) {
    const length = name === 'minute' ? minute : day;
    const most = key[name === 'minute' ? 'perMinute' : 'perDay'];
    const { remaining } = limit[name];
    const isSuspendedMinute = kind === 'suspended' && name === 'minute';
    const reset = isSuspendedMinute ? startOfMinute(to) + minute : limit[name].reset;
    const others = all.filter((each) => each !== seen);
    const certain = others.filter(
      (each) => each.limit?.kind === 'admitted' && each.to < from && each.limit[name].reset === reset,
    ).length;
    const stored = key.before?.[name] === reset / 1000 - length / 1000 ? key.before[`${name}Count`] : 0;
    if (isSuspendedMinute) {
      require(isUncounted ||
        certain + stored < most ||
        limit.minute.reset >= reset - slack, 'a suspension that ends in a full minute');
      continue;
    }
    const possible = sum(
      others
        .filter((each) => each.from <= to && each.to >= reset - length - rounding)
        .map(
          (each) =>
            (each.limit?.kind === 'admitted' && each.limit[name].reset === reset ? 1 : 0) +
            countsUncertain(each) +
            (isUncounted && each.limit?.kind === 'failOpen' && earlier.includes(each) ? 1 : 0),
        ),
    );
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
function isOver({ limit, from, to }: Seen, name: 'minute' | 'day', time: number): boolean {
  if (limit?.[name].remaining !== 0) return false;
  // The end of a suspension is known by the seconds from the answer, which may have been decided on at the start.
  const late = limit.kind === 'suspended' ? to - from : 0;
  return limit[name].reset - late > time;
}

/** Whether the stored usage of a key says that a window is full, or the key suspended, during a request. */
function isFullBy(item: Item | undefined, { from, to }: Seen, { perMinute, perDay }: Key): boolean {
  const stored = (name: string) => Number(item?.[name]?.N ?? 0);
  const isFull = (name: 'minute' | 'day', length: number, most: number) =>
    stored(`${name}Count`) >= most &&
    stored(name) * 1000 <= from &&
    to + rounding < stored(name) * 1000 + length;
  return (
    isFull('minute', minute, perMinute) ||
    isFull('day', day, perDay) ||
    stored('suspendedUntil') * 1000 > to + rounding
  );
}

/** Calls of a deprecated operation are counted for each key, like requests. */
function checkDeprecatedCalls(all: readonly Seen[], key: Key, { tables }: History): void {
  const calls = all.filter(({ exchange: { sent } }) => resourceOf(sent.path)?.isDeprecated(sent));
  const least = calls.filter(({ limit }) => limit?.kind === 'admitted').length;
  const most = sum(calls.map(({ limiterCalls }) => limiterCalls.filter(({ applied }) => applied).length));
  const stored = tables.versions('RateLimits').find(([first]) => first!.item!['keyHash']!.S === key.keyHash);
  const count = Number(stored?.at(-1)?.item?.['deprecatedCalls']?.N ?? 0);
  require(count >= least &&
    count <= most, `${count} calls of a deprecated operation, not ${least} to ${most}`);
}

/** What is of no use after some time has an end. */
function checkExpiry({ tables, keys }: History): void {
  for (const versions of tables.versions('RateLimits')) {
    const key = keys.find(({ keyHash }) => keyHash === versions[0]!.item!['keyHash']!.S);
    let today = String(key?.before?.day);
    for (const { item } of versions) {
      const started = item?.['day']?.N ?? today;
      require(started === today ||
        Number(item!['expiresAt']?.N) > Number(started) + day / 1000, 'a usage that never expires');
      today = started;
    }
  }
  for (const versions of tables.versions('Idempotency'))
    for (const { item } of versions)
      require(item === undefined || item['expiresAt'] !== undefined, 'an idempotency key that never expires');
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
  const before = key.before?.rejections ?? 0;
  const storedSince = (key.before?.rejectedSince ?? 0) * 1000;
  /** The first rejection of the minute in which a request began, at the earliest and at the latest. */
  const sinceOf = (each: Seen) => {
    const start = startOfMinute(each.from);
    if (startOfMinute(storedSince) === start) return { from: storedSince, to: storedSince };
    const possible = rejected.filter(({ from, to }) => to >= start && from < start + minute);
    const sure = possible.filter(({ from }) => from >= start);
    const first = sure.reduce((earliest, other) => (other.from < earliest.from ? other : earliest), each);
    return { from: Math.min(each.from, ...possible.map(({ from }) => from)), to: first.to };
  };
  const rejections = all.map((each) => {
    const isRejected = each.limit?.kind === 'rejected';
    const since = sinceOf(each);
    return {
      each,
      since,
      mayCount:
        (each.limit?.kind === 'suspended' || (isRejected && each.to >= since.from + grace - rounding)
          ? 1
          : 0) + countsUncertain(each),
      counts:
        isRejected &&
        each.limiterCalls.some(({ applied }) => applied) &&
        each.from >= since.to + grace + rounding,
    };
  });
  for (const { each } of rejections) {
    const { limit, from, to } = each;
    const byOperator = key.suspensions.some((it) => it.from <= to && it.until >= from - rounding);
    const recent = rejections.filter(
      ({ each: other }) => other.from <= to && other.to >= from - suspension - minute - rounding,
    );
    const most = Math.max(
      ...recent.map(({ each: first }) => {
        const end = first.from + minute + rounding;
        const within = recent.filter(({ each: other }) => other.to >= first.from && other.from <= end);
        return before + sum(within.map(({ mayCount }) => mayCount));
      }),
    );
    if (limit?.kind !== 'suspended' || byOperator) continue;
    explain(each, () => {
      const isStored = startOfMinute(storedSince) === startOfMinute(to);
      const length = isStored ? countedLength(storedSince) : 0;
      require(most >= rejectionsThatSuspend(length), `suspended after at most ${most} rejections`);
      const isFirst = !all.some(
        (other) => other.limit?.kind === 'suspended' && other.from < to && other !== each,
      );
      require(!isFirst ||
        limit.minute.reset >= from + suspension - rounding, 'suspended for too short a time');
    });
  }
  for (const inMinute of Map.groupBy(
    rejections.filter(({ counts }) => counts),
    ({ each }) => startOfMinute(each.from),
  ).values()) {
    const start = startOfMinute(inMinute[0]!.each.from);
    const isStored = startOfMinute(storedSince) === start;
    const since = isStored
      ? storedSince
      : Math.max(start, Math.min(...inMinute.map((it) => it.since.from)) - rounding);
    const earlier = isStored ? before : 0;
    const most = rejectionsThatSuspend(countedLength(since));
    const last = inMinute.map(({ each }) => each.to).toSorted((a, b) => a - b)[most - earlier - 1];
    if (
      last === undefined ||
      inMinute.some(({ each }) => each.to >= start + minute) ||
      // An operator's suspension starts the count anew.
      key.suspensions.some(({ from }) => from >= start && from < start + minute)
    )
      continue;
    for (const each of all)
      if (each.from > last && each.to < last + suspension - rounding)
        explain(each, () => require(isSuspended(each), `served after ${most} rejections`));
  }
  for (const { from, until } of key.suspensions)
    for (const each of all)
      if (each.from > from && each.to < until - rounding)
        explain(each, () => {
          require(isSuspended(each), 'served although the operator suspended the key');
          if (each.limit?.kind !== 'suspended' || hasFault(each.limiterCalls)) return;
          const end = Math.min(until, each.from + longestRetryAfter * 1000);
          require(each.limit.minute.reset >= end - rounding, 'the suspension of the operator is shortened');
        });
}

function startOfMinute(time: number): number {
  return Math.floor(time / minute) * minute;
}

/** Milliseconds of a minute in which rejections count, after a first one at `since`. */
function countedLength(since: number): number {
  return startOfMinute(since) + minute - since - grace;
}

/** @param length see `countedLength` */
export function rejectionsThatSuspend(length: number): number {
  return Math.ceil((suspendingRate * Math.max(shortestCount, length)) / 1000);
}

function isSuspended({ limit, limiterCalls }: Seen): boolean {
  return limit === undefined || limit.kind === 'suspended' || hasFault(limiterCalls);
}
