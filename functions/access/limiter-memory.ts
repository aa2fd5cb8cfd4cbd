import type { UnixSeconds } from '../runtime/unix-time.ts';
import type { Limits } from './plans.ts';
import { currentWindows, type Decision, decideUncounted, unused, type Usage } from './limiter-decisions.ts';

/** Keys that are remembered, the last used ones. */
const maxKeys = 1_000;

interface Known {
  /** In the last answer of the table, and what was admitted uncounted since. */
  readonly usage: Usage;
  /** All that was admitted uncounted in the present windows: the next answer of the table does not have it. */
  readonly uncounted: Usage;
}

/**
 * What an execution environment knows of its keys: their usage in the last answer of the table, and what it admitted
 * uncounted in the windows that have not ended. It decides when the table does not answer. So a full window stays full, a
 * suspension lasts, and what an environment admits uncounted in a window is at most the limit, also if the table answers
 * some of the requests.
 */
export class LimiterMemory {
  readonly #known = new Map<string, Known>();

  remember(keyHash: string, usage: Usage): void {
    this.#keep(keyHash, { usage, uncounted: this.#known.get(keyHash)?.uncounted ?? unused });
  }

  decide(keyHash: string, limits: Limits, now: UnixSeconds): Decision {
    const known = this.#known.get(keyHash) ?? { usage: unused, uncounted: unused };
    const [usage, uncounted] = [currentWindows(known.usage, now), currentWindows(known.uncounted, now)];
    // Not their sum: an answer that was lost can be in both.
    const minuteCount = Math.max(usage.minuteCount, uncounted.minuteCount);
    const dayCount = Math.max(usage.dayCount, uncounted.dayCount);
    const decision = decideUncounted({ ...usage, minuteCount, dayCount }, limits, now);
    const isAdmitted = decision.kind === 'admitted';
    this.#keep(keyHash, isAdmitted ? { usage: oneMore(usage), uncounted: oneMore(uncounted) } : known);
    return decision;
  }

  #keep(keyHash: string, known: Known): void {
    // The order of a map is that of insertion: the first key is the one that was not used for the longest time.
    this.#known.delete(keyHash);
    this.#known.set(keyHash, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxKeys && oldest !== undefined) this.#known.delete(oldest);
  }
}

function oneMore(usage: Usage): Usage {
  return { ...usage, minuteCount: usage.minuteCount + 1, dayCount: usage.dayCount + 1 };
}
