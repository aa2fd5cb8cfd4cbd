import type { Call, Item } from 'dynamodb-interleavings';
import { ensure, type Seen, within } from './simulation/seen.ts';
import type { Evaluations } from './evaluations.ts';
import { type Creation, type CreationWrite, explain, type Told } from './idempotency.model.ts';

/** A write as in the JSON of DynamoDB's protocol. A transaction writes the animal first. */
interface Written {
  readonly Item: Item;
  readonly ClientRequestToken: string;
  readonly TransactItems: readonly { readonly Put: { readonly Item: Item } }[];
}

/**
 * Every creation is answered as the model says, in the order in which the tables got the calls, and nothing else creates an animal.
 *
 * @param all requests that create animals
 * @throws Violation
 */
export function checkCreations(all: readonly Seen[], evaluations: Evaluations): void {
  const bodies = new Map<string, string>();
  for (const seen of all)
    for (const { animal, write } of writesOf(seen, evaluations))
      if (write.isWritten && write.before[0] === undefined) bodies.set(animal, bodyOf(seen));
  const records = new Map<string, string>();
  const owners = new Map<string, string>();
  const creationOf = (record: Item | undefined): Creation<string> | undefined => {
    if (record === undefined) return undefined;
    const animal = record['pet']!.M!['id']!.N!;
    return { body: bodies.get(animal) ?? 'of nobody', until: Number(record['expiresAt']!.N), animal };
  };
  for (const seen of all)
    within(seen.exchange, () => {
      const { token, idempotencyKey } = seen.exchange.sent;
      const hasKey = idempotencyKey !== undefined;
      const writes = writesOf(seen, evaluations);
      const model = writes.map(({ animal, attempt, write, call }): CreationWrite => {
        const [pet] = write.before;
        return {
          attempt,
          animal,
          isTaken: pet !== undefined,
          before: creationOf(write.before[1]),
          after: creationOf(write.after[1]),
          isWritten: write.isWritten,
          isReceived: call.received,
        };
      });
      // Each idempotency key of an API key has one record.
      for (const { record } of writes) {
        ensure((record === undefined) === !hasKey, 'an idempotency key without a record, or the reverse');
        if (record === undefined) continue;
        const owner = `${token} ${idempotencyKey}`;
        ensure((records.get(owner) ?? record) === record, 'two records of one idempotency key');
        ensure((owners.get(record) ?? owner) === owner, 'one record of two idempotency keys');
        records.set(owner, record);
        owners.set(record, owner);
      }
      // The time of the first attempt holds for all.
      const now = Math.floor((seen.otherCalls[0]?.sentAt ?? 0) / 1_000);
      const told: Told<string> | undefined =
        writes.length === 0 ? { outcome: 'unknown' } : explain({ body: bodyOf(seen), now, hasKey }, model);
      ensure(told !== undefined, `a write that is not the model's: ${JSON.stringify(model)}`);
      checkTold(seen, told);
    });
}

function checkTold({ reply, code, log }: Seen, told: Told<string>): void {
  if (reply === undefined) return;
  const replayed = reply.headers['Idempotency-Replayed'];
  const id = reply.status === 201 ? String((reply.body as { readonly id: bigint }).id) : undefined;
  const shown = { replayed, id, isReused: code === 'idempotency_key_reused' };
  const wanted = {
    replayed: told.outcome === 'replayed' ? 'true' : undefined,
    id: told.animal,
    isReused: told.outcome === 'mismatch',
  };
  ensure(
    JSON.stringify(shown) === JSON.stringify(wanted),
    `${JSON.stringify(shown)} instead of ${told.outcome} ${wanted.id ?? ''}`,
  );
  ensure(
    log?.PetsCreated === (told.outcome === 'created' ? 1 : undefined) &&
      log?.CreationsReplayed === (told.outcome === 'replayed' ? 1 : undefined),
    'the log counts otherwise',
  );
}

/** The writes of a request that the tables have got. */
function writesOf({ otherCalls }: Seen, evaluations: Evaluations) {
  return otherCalls.flatMap((call) => {
    const write = evaluations.get(call.input);
    const animal = petWritten(call);
    if (write === undefined || animal === undefined) return [];
    const { ClientRequestToken: attempt, TransactItems: items } = call.input as Written;
    const id = animal['id']!.N!;
    return [{ call, write, animal: id, attempt: attempt ?? id, record: items?.[1]?.Put.Item['id']?.S }];
  });
}

/** The animal that a call creates. */
export function petWritten({ operation, table, input }: Call): Item | undefined {
  if (table !== 'Pets') return undefined;
  const { Item: item, TransactItems: items } = input as Written;
  return operation === 'PutItem' ? item : items?.[0]?.Put.Item;
}

/** Equal for equal JSON, whatever its spelling, of one operation on one path. */
function bodyOf({ exchange: { sent } }: Seen): string {
  const json = JSON.stringify(parseExactly(String(sent.body)), (_name, value: unknown) =>
    typeof value === 'bigint'
      ? { int64: String(value) }
      : typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : value,
  );
  return `${sent.method} ${sent.path}\n${json}`;
}

/** Whole numbers as bigint. */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, (_name, value, { source = '' }) =>
    /^-?\d+$/.test(source) ? BigInt(source) : value,
  );
}
