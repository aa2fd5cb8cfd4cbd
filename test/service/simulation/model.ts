import { AnswerValidator } from '../../support/openapi-validator.ts';
import { checkAgainstLimits } from '../limits.check.ts';
import { animals } from './animals.ts';
import type { Resource } from './resource.ts';
import {
  day,
  within,
  hasFault,
  type History,
  type Key,
  look,
  ensure,
  rounding,
  type Seen,
  sum,
} from './seen.ts';

/*
 * The model of the interface: what each answer may be, given everything that clients sent, the faults that their calls met, and
 * what was stored. It shares no code with the functions, and takes its numbers from docs/interface.md, docs/api.md and docs/openapi.yaml.
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
export function checkAnswers(history: History): void {
  const { exchanges, keys } = history;
  const keyOf = new Map(keys.map((key) => [key.token, key]));
  const seen = exchanges.map((exchange) => look(exchange, keyOf.get(exchange.sent.token)));
  for (const each of seen)
    // A process that has crashed answers nothing.
    if (each.to < Infinity) within(each.exchange, () => checkAnswer(each, history));
  checkAgainstLimits(exchanges, keys, history.evaluations);
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
    ensure(operation.outcome !== 'timedOut', 'Lambda ends a function that does not answer in time');
    ensure('returned' in operation.outcome, 'a function throws');
    ensure(to - from <= operationTime - timeToAnswer, `the answer takes ${to - from} ms`);
    ensure(operation.leftOver === 0, 'a call outlives its request');
    ensure(operation.log.length === 1, `${operation.log.length} log lines`);
    ensure(log?.status === answer.status, 'the log has another status');
    ensure(!/[0-9a-f]{64}/.test(operation.log.join('')), 'the log has the hash of a key');
    ensure((log.level === 'ERROR') === (answer.status >= 500 || log['errors'] !== undefined), 'wrong level');
  }
  if (authorizer !== undefined) {
    ensure(authorizer.outcome !== 'timedOut', 'the authorizer does not answer in time');
    ensure(authorizer.leftOver === 0, 'a call outlives the authorizer');
    if ('thrown' in authorizer.outcome)
      ensure(hasFault(authorizer.calls), 'the authorizer throws without a fault');
  }
  checkAccess(seen);
  ensure(answer.status !== 403, 'the policy of the authorizer is for another route');
  if (reply === undefined || key === undefined) return;
  checkOrder(seen);

  if (limit === undefined) {
    ensure(code === 'unauthorized', 'nothing is said of the limit');
    const zeros = ['Limit', 'Remaining', 'Reset'].every(
      (name) => reply.headers[`X-RateLimit-${name}`] === '0',
    );
    ensure(zeros && reply.headers['RateLimit'] === undefined, 'limits of a key that is not valid');
  }

  const violations = validator.violations({
    method: sent.method,
    path: sent.path,
    status: reply.status,
    headers: new Headers(reply.headers),
    text: reply.text,
  });
  ensure(violations.length === 0, violations.join(', '));
  ensure(reply.headers['Cache-Control'] === 'no-store', 'the answer can be cached');
  ensure(reply.headers['WWW-Authenticate'] === undefined, 'a challenge, which API Gateway renames');
  if (reply.status === 503) ensure(reply.headers['Retry-After'] === '1', '503 without Retry-After');
  const resource = resourceOf(sent.path);
  const faulty = hasFault(seen.otherCalls);
  if (reply.status === 503) ensure(faulty, '503 without a fault');
  if (reply.status === 500) {
    // After an unknown error, only a write says that it may have been done.
    const isUnknown = seen.otherCalls.some(({ outcome }) => outcome?.includes('SomethingNew'));
    ensure(
      hasFault(seen.otherCalls, 'denied') ||
        (sent.method === 'GET' && isUnknown) ||
        resource?.isMalformed(sent, history) === true,
      '500 without a cause',
    );
  }
  if (reply.status === 503 && sent.method !== 'GET')
    ensure(/may have been/.test(reply.text), '503 does not say that something may be written');

  // A transient fault is repeated, so a client sees it only if there are more.
  const faulted = seen.otherCalls.filter((call) => hasFault([call]));
  const repeated = ['answered', 'lostBefore', 'lostAfter', 'failed', 'throttled'];
  const isSingle = faulted.length === 1 && repeated.includes(faulted[0]!.fate!);
  if (isSingle && sent.idempotencyKey === undefined)
    ensure(reply.status !== 503, '503 after one transient fault');
  const attempts = Map.groupBy(seen.otherCalls, ({ input }) => JSON.stringify(input));
  for (const same of attempts.values())
    ensure(
      same.filter(({ fate, received }) => fate === 'throttled' && received).length <= 2,
      'a throttled call is repeated twice',
    );

  // Throttling alone holds no environment.
  const calls = operation!.calls;
  const onlyThrottled = calls.every(({ fate }) => fate === 'answered' || fate === 'throttled');
  if (onlyThrottled && calls.some(({ fate }) => fate === 'throttled') && sent.idempotencyKey === undefined) {
    const waited = to - from - sum(calls.map(({ sentAt, endedAt = to }) => endedAt - sentAt));
    ensure(waited <= throttlingTime, `throttling holds an environment for ${waited} ms`);
    ensure(
      seen.limiterCalls.filter(({ fate, received }) => fate === 'throttled' && received).length <= 1,
      'the limiter repeats a throttled call',
    );
  }

  const expected = resource?.expectedOf(sent, history) ?? [404];
  const { status } = reply;
  if (sent.method !== 'GET' && status >= 400 && status < 500)
    ensure(!seen.otherCalls.some(({ applied }) => applied), 'refused, although it was done');
  ensure(
    status === 429 ||
      status >= 500 ||
      (status === 401 && code === 'unauthorized') ||
      expected.includes(status),
    `status ${status} instead of ${expected.join(' or ')}`,
  );
  if (status === 405) {
    const allow = reply.headers['Allow'];
    const methods = validator.methodsOf(sent.path)?.join(', ');
    // An earlier version can have other operations.
    const isEarlier = / of /.test(seen.operation!.environment.name);
    ensure(isEarlier ? !allow?.includes(sent.method) : allow === methods, 'another Allow');
  }
}

/** A read is counted at the same time, a write before. What is invalid reads and writes nothing. */
function checkOrder({ exchange: { sent }, reply, operation, limiterCalls, otherCalls }: Seen): void {
  const [first] = otherCalls;
  if (first === undefined) return;
  ensure(![400, 405, 413, 415].includes(reply!.status), 'an invalid request reaches the items');
  if (sent.method === 'GET')
    ensure(
      limiterCalls.slice(0, 1).every(({ sentAt }) => sentAt === first.sentAt),
      'calls that could be made at the same time',
    );
  else {
    ensure(reply!.status !== 429, 'a rejected request writes');
    ensure(operation!.calls.indexOf(first) >= limiterCalls.length, 'a request writes before it is counted');
  }
}

/** 401 if and only if the key is not valid. The authorizer's answer is cached. */
function checkAccess({ exchange, key, operation }: Seen): void {
  const { startedAt, endedAt, answer } = exchange;
  const invalidFrom = Math.min(key?.revokedAt ?? 0, key?.expiresAt || Infinity);
  // The functions know when a key expires, so only a revocation waits for the cache.
  const surelyInvalidFrom = Math.min((key?.revokedAt ?? 0) + cacheTime, key?.expiresAt || Infinity);
  if (answer.status === 401)
    ensure(key === undefined || endedAt >= invalidFrom - rounding, '401 for a valid key');
  else if (answer.status !== 503 || operation !== undefined)
    ensure(startedAt <= surelyInvalidFrom + rounding, `${answer.status} for a key that is not valid`);
  // It is right to the second, because the function has the time of the key, and its clock.
  if (operation !== undefined && key?.expiresAt)
    ensure(
      (answer.status === 401) === operation.startedAt >= key.expiresAt,
      'another time than that of the key',
    );
}

/** Calls of a deprecated operation are counted for each key, like requests. */
function checkDeprecatedCalls(all: readonly Seen[], key: Key, { tables }: History): void {
  const calls = all.filter(({ exchange: { sent } }) => resourceOf(sent.path)?.isDeprecated(sent));
  const least = calls.filter(({ limit }) => limit?.kind === 'admitted').length;
  const most = sum(calls.map(({ limiterCalls }) => limiterCalls.filter(({ applied }) => applied).length));
  const stored = tables.versions('RateLimits').find(([first]) => first!.item!['keyHash']!.S === key.keyHash);
  const count = Number(stored?.at(-1)?.item?.['deprecatedCalls']?.N ?? 0);
  ensure(
    count >= least && count <= most,
    `${count} calls of a deprecated operation, not ${least} to ${most}`,
  );
}

/** What is of no use after some time has an end. */
function checkExpiry({ tables, keys }: History): void {
  for (const versions of tables.versions('RateLimits')) {
    const key = keys.find(({ keyHash }) => keyHash === versions[0]!.item!['keyHash']!.S);
    let today = String(key?.before?.day);
    for (const { item } of versions) {
      const started = item?.['day']?.N ?? today;
      ensure(
        started === today || Number(item!['expiresAt']?.N) > Number(started) + day / 1000,
        'a usage that never expires',
      );
      today = started;
    }
  }
  for (const versions of tables.versions('Idempotency'))
    for (const { item } of versions)
      ensure(item === undefined || item['expiresAt'] !== undefined, 'an idempotency key that never expires');
}
