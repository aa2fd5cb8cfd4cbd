/**
 * What a client is promised that sends an `Idempotency-Key`: docs/api.md, decisions. Only a model: it shares no code with the
 * functions. All times are whole Unix seconds.
 */
const retention = 86_400;

/** What a creation comes to. `unknown`: nobody tells the client, which can ask again. */
type Outcome = 'created' | 'replayed' | 'mismatch' | 'unknown';

/** How the calls of the table end: answered, or given up after or before the table has got them. */
export type Answers = 'all' | 'afterwards' | 'none';

interface Creation {
  /** The request as JSON, in one spelling. */
  readonly body: string;
  readonly until: number;
  /** The number of the animal, in the order in which animals are stored. */
  readonly animal: number;
}

/** The creations of all API keys and idempotency keys. */
export class Creations {
  /** How many animals are stored. */
  animals = 0;
  readonly #known = new Map<string, Creation>();

  /** @param key an idempotency key of an API key. Undefined: every request is a creation of its own */
  request(key: string | undefined, body: string, now: number, answers: Answers = 'all'): Expected {
    const known = key === undefined ? undefined : this.#known.get(key);
    if (answers === 'none') return { outcome: 'unknown', animal: undefined };
    if (known === undefined || known.until <= now) {
      const animal = (this.animals += 1);
      if (key !== undefined) this.#known.set(key, { body, until: now + retention, animal });
      return answers === 'all' ? { outcome: 'created', animal } : { outcome: 'unknown', animal: undefined };
    }
    if (answers === 'afterwards') return { outcome: 'unknown', animal: undefined };
    return known.body === body
      ? { outcome: 'replayed', animal: known.animal }
      : { outcome: 'mismatch', animal: undefined };
  }
}

interface Expected {
  readonly outcome: Outcome;
  readonly animal: number | undefined;
}
