import { hash } from 'node:crypto';
import type { Call } from './call.ts';
import type { Outcome } from './options.ts';
import { described, outcomeText } from './story.ts';

/** How many situations are kept, because each takes memory. */
const mostKnown = 100_000;
/** In how many of their letters random IDs differ at least. The first ones of some are the time. */
const partOfRandom = 0.4;

/** Something that a request does: it makes a call, sets a timer, or ends. */
export interface Deed {
  /** Such as `calls GetItem Counters {id: "a"}`. */
  readonly told: string;
  /** Equal for equal deeds, whatever their IDs are. */
  readonly key: string;
  readonly ids: readonly string[];
  /** The same with other values. */
  readonly kind: string;
}

/** Of a request: what it has done, and what has happened to it. */
export interface Actor {
  readonly name: string;
  readonly deeds: Deed[];
  past: string;
  /** Something has happened to it in this step. */
  isAwake: boolean;
}

const waits: Deed = { told: 'waits', key: '', ids: [], kind: '' };

/** Libraries cut IDs from a pool of random numbers that they keep, so these are not the same each time. */
function withoutIds(text: string): Pick<Deed, 'key' | 'ids'> {
  const ids: string[] = [];
  const isId = (word: string) => (/\d/.test(word) && /[a-z]/i.test(word)) || /[a-z][A-Z]/.test(word);
  const rest = text.replaceAll(/[\w-]{10,}/g, (word) => {
    if (!isId(word)) return word;
    ids.push(word);
    return '?';
  });
  return { key: hash('sha1', rest), ids };
}

/** Whether both are random, or the same. A name with a number that rises is neither. */
function areAlike(a: string, b: string): boolean {
  const different = [...a].filter((letter, index) => letter !== b[index]).length;
  return a === b || (a.length === b.length && different > partOfRandom * a.length);
}

const isSame = (a: Deed, b: Deed | undefined): boolean =>
  a.key === b?.key && a.ids.every((id, index) => areAlike(id, b.ids[index]!));

export function deedOfCall(call: Call): Deed {
  const { headers: _, ...input } = call.input as { readonly headers?: unknown };
  return {
    // Most are not told.
    get told() {
      return `calls ${described(call)}`;
    },
    ...withoutIds(`${call.service} ${call.operation} ${JSON.stringify(input)}`),
    kind: `${call.service} ${call.operation} ${call.table}`,
  };
}

export function deedOfTimer(milliseconds: number): Deed {
  const told = `sets a timer of ${milliseconds} ms`;
  return { told, key: told, ids: [], kind: 'timer' };
}

export function deedOfOutcome(outcome: Outcome): Deed {
  const told = outcomeText(outcome);
  return { told, ...withoutIds(told), kind: outcome.status };
}

/** The error of a run in which a request does something else each time. */
export function inconstant(sentence: string): Error {
  return new Error(
    `${sentence} So something outside of the requests is not the same each time, and nothing would be proven: a module keeps a cache, ` +
      'a lock or a counter, or it has kept the clock or the random numbers of Node.js when it was loaded. Give each request modules ' +
      'of its own with `Bundle`, or make what the requests have in common in `shared`.',
  );
}

/** What differs between two runs of the same schedule. @param byKind only in what kinds of things requests do, in any order */
export function differenceOf(
  first: readonly Actor[],
  second: readonly Actor[],
  byKind = false,
): Error | undefined {
  for (const [index, { name, deeds }] of first.entries()) {
    const [a, b] = [deeds, second[index]!.deeds].map((all) =>
      byKind ? all.toSorted((one, other) => (one.kind < other.kind ? -1 : 1)) : all,
    );
    const at = a!.findIndex((deed, each) =>
      byKind ? deed.kind !== b![each]?.kind : !isSame(deed, b![each]),
    );
    if (at >= 0)
      return inconstant(
        `In the same schedule, ${name} once ${a![at]!.told} and once ${(b![at] ?? waits).told}.`,
      );
  }
  return undefined;
}

/**
 * What requests do, which has to follow from what has happened to them alone: their answers and timers. Otherwise they have something
 * in common, or with earlier schedules.
 */
export class Conduct {
  /** What the run is to end with. */
  error: Error | undefined;
  readonly #known = new Map<string, Deed>();

  /** Something happens to a request. */
  wake(actor: Actor, what: string): void {
    this.#expect(actor, waits);
    actor.past = hash('sha1', `${actor.past} ${what}`);
    actor.isAwake = true;
  }

  /** A request does something. */
  act(actor: Actor, deed: Deed): void {
    if (!actor.isAwake)
      this.error ??= inconstant(
        `Without an answer or a timer, ${actor.name} ${deed.told} when another request goes on.`,
      );
    this.#expect(actor, deed);
    actor.past = hash('sha1', `${actor.past} ${deed.key}`);
  }

  forget(): void {
    this.#known.clear();
  }

  #expect({ name, past }: Actor, deed: Deed): void {
    const known = this.#known.get(past);
    if (known === undefined && this.#known.size < mostKnown) this.#known.set(past, { ...deed });
    if (known !== undefined && !isSame(known, deed))
      this.error ??= inconstant(`After the same answers, ${name} once ${known.told} and once ${deed.told}.`);
  }
}
