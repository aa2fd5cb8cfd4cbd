import type { Call } from 'dynamodb-interleavings';
import { AnswerValidator } from '../../support/openapi-validator.ts';
import { allowedMethods, type FunctionEntry } from '../../../functions/operations.ts';
import { routeOf } from '../../support/events.ts';
import { tableAccess } from '../../../lib/table-access.ts';
import { titleCase } from '../../../lib/title-case.ts';
import { checkLimits } from '../limits.check.ts';
import { animals } from './animals.ts';
import type { Resource } from './resource.ts';
import {
  day,
  explain,
  hasFault,
  type History,
  type Key,
  look,
  require,
  rounding,
  type Seen,
  sum,
} from './seen.ts';

/*
 * The model of the interface: what each answer may be, given everything that clients sent, the faults that their calls met, and
 * what was stored. It shares no code with the functions, and takes its numbers from docs/interface.md and docs/api.md.
 */

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
  for (const each of seen)
    // A process that has crashed answers nothing.
    if (each.to < Infinity) explain(each, () => checkAnswer(each, history));
  checkLimits(exchanges, keys, history.evaluations);
  for (const key of keys)
    checkDeprecatedCalls(
      seen.filter((each) => each.key === key && each.operation !== undefined),
      key,
      history,
    );
  const byResource = Map.groupBy(seen, ({ exchange: { sent } }) => resourceOf(sent.path));
  for (const [resource, ofResource] of byResource) resource?.check(ofResource, history);
  checkExpiry(history);
}

function checkAnswer(seen: Seen, history: History): void {
  const { exchange, key, reply, operation, code, log, limit, from, to } = seen;
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

  if (limit === undefined) {
    require(code === 'unauthorized', 'nothing is said of the limit');
    const zeros = ['Limit', 'Remaining', 'Reset'].every(
      (name) => reply.headers[`X-RateLimit-${name}`] === '0',
    );
    require(zeros && reply.headers['RateLimit'] === undefined, 'limits of a key that is not valid');
  }

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
