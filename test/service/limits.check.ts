import { isDeepStrictEqual } from 'node:util';
import type { Call, Item } from 'dynamodb-interleavings';
import type { Exchange, Invocation } from './simulation/gateway.ts';
import { type Key, Violation } from './simulation/seen.ts';
import type { Reply } from '../support/lambda.ts';
import type { Evaluations } from './evaluations.ts';
import { explain, type Expectation, Memory, Patience, unused, type Usage } from './limits.model.ts';

/** The usage in an item of the table. */
function usageIn(item: Item = {}): Usage {
  const stored = Object.keys(unused).map((name) => [name, Number(item[name]?.N ?? 0)]);
  return { ...unused, ...(Object.fromEntries(stored) as Partial<Usage>) };
}

/** Every answer is that of the model, in the order in which the table got the calls. @throws Violation */
export function checkAgainstLimits(
  exchanges: readonly Exchange[],
  keys: readonly Key[],
  evaluations: Evaluations,
): void {
  const keyOf = new Map(keys.map((key) => [key.token, key]));
  const memories = new Map<string, Memory>();
  const patiences = new Map<string, Patience>();
  for (const exchange of exchanges.toSorted(byStart)) {
    const { operation, answer, sent } = exchange;
    // A process that has crashed serves no more requests.
    if (operation !== undefined && operation.endedAt < Infinity) {
      const { name } = operation.environment;
      const patience = patiences.get(name) ?? new Patience();
      patiences.set(name, patience);
      checkPatience(exchange, operation, patience);
    }
    const key = keyOf.get(sent.token);
    // Without a key there are no limits.
    if (key === undefined || operation === undefined || answer.status === 401) continue;
    const calls = operation.calls.flatMap(({ table, input, received: isReceived }) => {
      const found = table === 'RateLimits' ? evaluations.get(input) : undefined;
      if (found === undefined) return [];
      const { before, after, isWritten } = found;
      return [{ before: usageIn(before[0]), after: usageIn(after[0]), isWritten, isReceived }];
    });
    const place = `${operation.environment.name} ${key.token}`;
    const memory = memories.get(place) ?? new Memory();
    memories.set(place, memory);
    const told = explain(key, Math.floor(operation.startedAt / 1_000), calls, memory);
    if (told === undefined)
      throw new Violation(`a write that is not the model's: ${JSON.stringify(calls)}`, exchange);
    // A function that throws, or whose process has crashed, has answered nothing.
    if (answer.headers === undefined) continue;
    const last = operation.calls.findLast(({ table }) => table === 'RateLimits');
    if (told.kind === 'uncounted' && last?.fate === 'answered' && last.received)
      throw new Violation('not counted, although the table answers', exchange);
    const [wanted, shown] = [shownBy(told), shownIn(exchange, told)];
    if (!isDeepStrictEqual(shown, wanted)) {
      const [is, instead] = [JSON.stringify(shown), JSON.stringify(wanted)];
      throw new Violation(`${is} instead of ${instead} after ${JSON.stringify(calls)}`, exchange);
    }
  }
}

/** A request asks the table if and only if its environment has not waited in vain before. */
function checkPatience(exchange: Exchange, operation: Invocation, patience: Patience): void {
  const now = Math.floor(operation.startedAt / 1_000);
  const calls = operation.calls.filter(({ table }) => table === 'RateLimits');
  const asks = calls.length > 0;
  const waits = [...patience.at(now)].filter((wait) => wait > 0 === asks);
  // An earlier version can ask more often.
  if (waits.length === 0 && !/ of /.test(operation.environment.name))
    throw new Violation(asks ? 'asks the table, which did not answer' : 'does not ask the table', exchange);
  patience.request(now, asks, asks ? isInVain(calls, operation, waits) : undefined);
}

function waitFor(calls: readonly Call[], { startedAt, endedAt }: Invocation): number {
  return (calls.at(-1)!.endedAt ?? endedAt) - startedAt;
}

/** Whether a request has waited in vain for the table. An error that comes before half of the time is no silence. */
function isInVain(
  calls: readonly Call[],
  operation: Invocation,
  waits: readonly number[],
): boolean | undefined {
  const { received, outcome } = calls.at(-1)!;
  if (received && outcome?.startsWith('200')) return false;
  if (operation.endedAt - operation.startedAt < Math.min(...waits) / 2) return false;
  const isSilent =
    !calls.some((call) => call.received) && waitFor(calls, operation) >= Math.max(...waits) / 2;
  return isSilent ? true : undefined;
}

function byStart(a: Exchange, b: Exchange): number {
  return (a.operation?.startedAt ?? 0) - (b.operation?.startedAt ?? 0);
}

/** What a client and the metrics are told. */
interface Told {
  readonly kind: Expectation['kind'] | undefined;
  /** The code of a 429. */
  readonly code: unknown;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

const codes = {
  admitted: undefined,
  uncounted: undefined,
  rejected: 'rate_limit_exceeded',
  suspended: 'key_suspended',
} as const;

function shownBy({ kind, headers }: Expectation): Told {
  return { kind, code: codes[kind], headers };
}

/** What an answer says of that which the model tells. */
function shownIn({ answer, operation }: Exchange, { headers }: Expectation): Told {
  const { status, body, headers: all } = answer as Reply;
  const code = status === 429 ? (body as { readonly code: unknown }).code : undefined;
  const shown = Object.keys(headers).map((name) => [name, all[name]]);
  return { kind: kindOf(operation?.log[0]), code, headers: Object.fromEntries(shown) as Told['headers'] };
}

const kinds = {
  RequestsAdmitted: 'admitted',
  LimiterFailOpen: 'uncounted',
  RequestsRejected: 'rejected',
  RequestsSuspended: 'suspended',
} as const;

/** What the log line of a request says of its limits, if it says one thing. */
export function kindOf(line = '{}'): Expectation['kind'] | undefined {
  const counts = JSON.parse(line) as Readonly<Record<string, unknown>>;
  const found = Object.entries(kinds).filter(([metric]) => counts[metric] === 1);
  return found.length === 1 ? found[0]![1] : undefined;
}
