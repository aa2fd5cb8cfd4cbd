import { isDeepStrictEqual } from 'node:util';
import type { GetItemCommandOutput, UpdateItemCommandInput } from '@aws-sdk/client-dynamodb';
import type { Tables } from 'dynamodb-interleavings';
import type { Exchange } from '../simulation/gateway.ts';
import { type Key, Violation } from '../simulation/seen.ts';
import type { Reply } from '../support/lambda.ts';
import {
  type Evaluation,
  type Evaluations,
  explain,
  type Expectation,
  Memory,
  unused,
  type Usage,
} from './limits.model.ts';

/** From now on notes what writes of the limiter meet and leave in the table. */
export function noteEvaluations(tables: Tables): Evaluations {
  const evaluations = new Map<object, Omit<Evaluation, 'isReceived'>>();
  const call = tables.call.bind(tables);
  const usageOf = (keyHash: unknown): Usage => {
    const input = { TableName: 'RateLimits', Key: { keyHash } };
    const { Item: item = {} } = call('GetItem', input) as GetItemCommandOutput;
    const stored = Object.keys(unused).map((name) => [name, Number(item[name]?.N ?? 0)]);
    return { ...unused, ...(Object.fromEntries(stored) as Partial<Usage>) };
  };
  let isTried = false;
  const writes = tables.writes.bind(tables);
  tables.writes = (operation, input) => {
    isTried = true;
    const isWrite = writes(operation, input);
    isTried = false;
    return isWrite;
  };
  tables.call = (operation, input, reading) => {
    const { TableName: table, Key: key } = input as Partial<UpdateItemCommandInput>;
    if (isTried || operation !== 'UpdateItem' || table !== 'RateLimits')
      return call(operation, input, reading);
    const before = usageOf(key?.['keyHash']);
    const note = (isWritten: boolean) =>
      evaluations.set(input, { before, after: usageOf(key?.['keyHash']), isWritten });
    try {
      const answer = call(operation, input, reading);
      note(true);
      return answer;
    } catch (error) {
      note(false);
      throw error;
    }
  };
  return evaluations;
}

/** Every answer is that of the model, in the order in which the table got the calls. @throws Violation */
export function checkLimits(
  exchanges: readonly Exchange[],
  keys: readonly Key[],
  evaluations: Evaluations,
): void {
  const keyOf = new Map(keys.map((key) => [key.token, key]));
  const memories = new Map<string, Memory>();
  for (const exchange of exchanges.toSorted(byStart)) {
    const { operation, answer, sent } = exchange;
    const key = keyOf.get(sent.token);
    // Without a key there are no limits. A function that throws has answered nothing.
    if (key === undefined || operation === undefined || answer.headers === undefined || answer.status === 401)
      continue;
    const calls = operation.calls.flatMap((call) => {
      const found = evaluations.get(call.input);
      return found === undefined ? [] : [{ ...found, isReceived: call.received }];
    });
    const place = `${operation.environment.name} ${key.token}`;
    const memory = memories.get(place) ?? new Memory();
    memories.set(place, memory);
    const told = explain(key, Math.floor(operation.startedAt / 1_000), calls, memory);
    if (told === undefined)
      throw new Violation(`a write that is not the model's: ${JSON.stringify(calls)}`, exchange);
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

function byStart(a: Exchange, b: Exchange): number {
  return (a.operation?.startedAt ?? 0) - (b.operation?.startedAt ?? 0);
}

/** What a client and the metrics are told. */
interface Told {
  readonly kind: Expectation['kind'] | undefined;
  /** Of a 429. */
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

/** Of an answer, what the model says of it. */
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
