import type { Exchange, Invocation } from './gateway.ts';
import type { History, Key, Violation } from './seen.ts';

/** What happened, for a contributor: all of the key and of the environment up to the request that fails, and all of that. */
export function tell(violation: Violation, history: History, rest: readonly string[] = []): string {
  const { exchanges, keys, events } = history;
  const failed = violation.exchange ?? exchanges.at(-1)!;
  const start = Math.min(...exchanges.map(({ startedAt }) => startedAt));
  const keyOf = (exchange: Exchange) => keys.find(({ token }) => token === exchange.sent.token);
  const environment = failed.operation?.environment;
  const known = exchanges.filter(
    (each) =>
      each !== failed &&
      each.startedAt <= failed.endedAt &&
      (each.sent.token === failed.sent.token ||
        (environment !== undefined && each.operation?.environment === environment)),
  );
  const lines = [
    ...known.map((each) => ({ at: each.startedAt, text: summary(each, keyOf(each), start) })),
    ...events
      .filter(({ at }) => at <= failed.endedAt)
      .map(({ at, text }) => ({ at, text: `${seconds(at, start)}  ${text}` })),
  ];
  const key = keyOf(failed);
  return [
    violation.message,
    '',
    `Since ${new Date(start).toISOString()}, in seconds${key === undefined ? ':' : `, ${describeKey(key)}:`}`,
    ...lines.toSorted((a, b) => a.at - b.at).map(({ text }) => text),
    summary(failed, key, start),
    '  ^ this is not allowed',
    ...rest,
    '',
    `All of request ${failed.number}:`,
    ...details(failed, start),
  ].join('\n');
}

function describeKey({ name, plan, perMinute, perDay, expiresAt, before }: Key): string {
  const expiry = expiresAt === 0 ? '' : `, expires at ${new Date(expiresAt).toISOString()}`;
  const usage = before === undefined ? '' : `, stored before: ${JSON.stringify(before)}`;
  return `${name} (${plan}) has ${perMinute} requests a minute and ${perDay} a day${expiry}${usage}`;
}

function seconds(at: number, start: number): string {
  return ((at - start) / 1000).toFixed(3).padStart(9);
}

/** A request in one line, and its calls in one line each. */
function summary(exchange: Exchange, key: Key | undefined, start: number): string {
  const { number, sent, startedAt, endedAt, answer, authorizer, operation } = exchange;
  const { method, path, query = [], body, idempotencyKey } = sent;
  const asked = query.length === 0 ? path : `${path}?${query.map((pair) => pair.join('=')).join('&')}`;
  const code = answer.headers === undefined ? '' : codeOf(answer.body);
  const left = answer.headers?.['X-RateLimit-Remaining'];
  return [
    `${seconds(startedAt, start)}  #${number} ${key?.name ?? 'unknown key'}: ${method} ${asked}`,
    ...(idempotencyKey === undefined ? [] : [` Idempotency-Key "${idempotencyKey}"`]),
    ...(body === undefined || body.length > 200 ? [] : [` ${String(body)}`]),
    ` → ${answer.status}${code}${left === undefined ? '' : `, ${left} left`}`,
    `, after ${((endedAt - startedAt) / 1000).toFixed(3)}`,
    operation === undefined ? '' : `, by ${operation.environment.name}`,
    ...[authorizer, operation].flatMap((invocation) => callLines(invocation, start)),
  ].join('');
}

function codeOf(body: unknown): string {
  return typeof body === 'object' && body !== null && 'code' in body ? ` ${String(body.code)}` : '';
}

function callLines(invocation: Invocation | undefined, start: number): string[] {
  return (invocation?.calls ?? []).map(
    ({ name, operation, table, sentAt, fate, applied }) =>
      `\n${seconds(sentAt, start)}      ${name} ${operation} of ${table}: ${fate}${applied ? ', applied' : ''}`,
  );
}

function details({ sent, answer, authorizer, operation }: Exchange, start: number): string[] {
  return [
    `  ${JSON.stringify({ ...sent, token: undefined })}`,
    ...[authorizer, operation].flatMap((invocation) =>
      (invocation?.calls ?? []).flatMap(({ name, operation: call, sentAt, fate, outcome, input }) => [
        `  ${name} at ${seconds(sentAt, start).trim()}: ${call} ${JSON.stringify(input)}`,
        `    ${fate}: ${outcome}`,
      ]),
    ),
    `  answer ${answer.status} ${JSON.stringify(answer.headers)} ${answer.headers === undefined ? '' : answer.text}`,
    ...(operation?.log ?? []).map((line) => `  ${line.trim()}`),
    ...(operation !== undefined && operation.outcome !== 'timedOut' && 'thrown' in operation.outcome
      ? [`  ${String(operation.outcome.thrown)}`]
      : []),
  ];
}
