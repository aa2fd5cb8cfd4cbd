/**
 * What a client is promised that sends an `Idempotency-Key`: docs/api.md, decisions. Only a model: it shares no code with the
 * functions. All times are whole Unix seconds.
 */
const retention = 86_400;

/** The first request with an idempotency key of an API key. */
export interface Creation<Animal> {
  /** Its JSON, in one spelling. */
  readonly body: string;
  readonly until: number;
  /** What it has stored. */
  readonly animal: Animal;
}

/** What the client of a request is told. */
export interface Told<Animal> {
  /** `unknown`: nothing, so that it can ask again. */
  readonly outcome: 'created' | 'replayed' | 'mismatch' | 'unknown';
  /** The first two have the animal. */
  readonly animal?: Animal;
}

/**
 * A write of a request, when the table evaluates it: what its client is told, and what is known of the key then.
 *
 * @param known what is known of the key before
 */
function write<Animal>(
  known: Creation<Animal> | undefined,
  { body, now, animal }: { readonly body: string; readonly now: number; readonly animal: Animal },
): { readonly told: Told<Animal>; readonly known: Creation<Animal> } {
  if (known === undefined || known.until <= now)
    return { told: { outcome: 'created', animal }, known: { body, until: now + retention, animal } };
  if (known.body !== body) return { told: { outcome: 'mismatch' }, known };
  return { told: { outcome: 'replayed', animal: known.animal }, known };
}

/** How the calls of the table end: answered, or given up after or before the table has got them. */
export type Answers = 'all' | 'afterwards' | 'none';

/** The creations of all API keys and idempotency keys, one after the other. */
export class Creations {
  /** How many animals are stored: their numbers, from 1. */
  animals = 0;
  readonly #known = new Map<string, Creation<number>>();

  /** @param key an idempotency key of an API key. Undefined: every request is a creation of its own */
  request(key: string | undefined, body: string, now: number, answers: Answers = 'all'): Told<number> {
    if (answers === 'none') return { outcome: 'unknown' };
    const before = key === undefined ? undefined : this.#known.get(key);
    const { told, known } = write(before, { body, now, animal: this.animals + 1 });
    if (told.outcome === 'created') this.animals += 1;
    if (key !== undefined) this.#known.set(key, known);
    return answers === 'all' ? told : { outcome: 'unknown' };
  }
}

/** A write of a request that the table has got. */
export interface CreationWrite {
  /** The same for all attempts of one call. */
  readonly attempt: string;
  /** The animal that it stores. */
  readonly animal: string;
  /** Whether another animal has its ID. */
  readonly isTaken: boolean;
  /** What the table knows of the key when it gets the write, and after it. */
  readonly before: Creation<string> | undefined;
  readonly after: Creation<string> | undefined;
  readonly isWritten: boolean;
  /** Whether the function knows what came of it. */
  readonly isReceived: boolean;
}

/**
 * What the client of a request is told whose writes were these, in any order with those of others: each is that of the model on what it
 * meets. @returns undefined if one is another
 *
 * @param hasKey whether the request has an idempotency key
 */
export function explain(
  { body, now, hasKey }: { readonly body: string; readonly now: number; readonly hasKey: boolean },
  writes: readonly CreationWrite[],
): Told<string> | undefined {
  const done = new Set(writes.filter((each) => isFirst(each)).map(({ attempt }) => attempt));
  // One request stores one animal.
  if (done.size > 1) return undefined;
  let last: Told<string> = { outcome: 'unknown' };
  for (const each of writes) {
    // It has been told, and goes on.
    if (last.outcome !== 'unknown') return undefined;
    const { attempt, animal, isTaken, before, after, isWritten, isReceived } = each;
    const { told, known } = write(before, { body, now, animal });
    // A repeated attempt does nothing more, and an ID in use is given to nobody.
    const isRepeated = done.has(attempt) && !isFirst(each);
    const isCreated = told.outcome === 'created' && !isTaken && !isRepeated;
    if (isCreated !== (isWritten && !isRepeated)) return undefined;
    const wanted = isCreated && hasKey ? known : before;
    if (JSON.stringify(after) !== JSON.stringify(wanted)) return undefined;
    if (!isReceived) continue;
    if (isRepeated) last = { outcome: 'created', animal };
    else if (told.outcome !== 'created' || isCreated) last = told;
  }
  return last;
}

/** Whether it has stored the animal itself. */
function isFirst({ isWritten, isTaken }: CreationWrite): boolean {
  return isWritten && !isTaken;
}
