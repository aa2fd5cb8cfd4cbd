import type { UnixSeconds } from '../runtime/unix-time.ts';
import type { Limits } from './plans.ts';
import { currentWindows, type Decision, decideUncounted, type Usage, unused } from './limiter-decisions.ts';

/** Keys that are remembered, the last used ones. */
const maxKeys = 1_000;

/**
 * What an execution environment knows of its keys: the highest count of each window that the table has answered, or that it
 * reached itself by admitting uncounted. It decides when the table does not answer. So a window that it has seen full stays full,
 * a suspension lasts, and what it admits uncounted in a window is at most the limit.
 *
 * Not the sum of both: a write whose answer was lost would be in it twice, and reject a key within its limits.
 */
export class LimiterMemory {
  readonly #known = new Map<string, Usage>();

  /** @param answer of the table */
  remember(keyHash: string, answer: Usage, now: UnixSeconds): void {
    const [usage, known] = [currentWindows(answer, now), this.#current(keyHash, now)];
    this.#keep(keyHash, {
      ...usage,
      ...latest(usage, known, 'minute', 'minuteCount'),
      ...latest(usage, known, 'day', 'dayCount'),
    });
  }

  decide(keyHash: string, limits: Limits, now: UnixSeconds): Decision {
    const usage = this.#current(keyHash, now);
    const decision = decideUncounted(usage, limits, now);
    this.#keep(keyHash, decision.kind === 'admitted' ? oneMore(usage) : usage);
    return decision;
  }

  #current(keyHash: string, now: UnixSeconds): Usage {
    return currentWindows(this.#known.get(keyHash) ?? unused, now);
  }

  #keep(keyHash: string, usage: Usage): void {
    // The order of a map is that of insertion: the first key is the one that was not used for the longest time.
    this.#known.delete(keyHash);
    this.#known.set(keyHash, usage);
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxKeys && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** The later window of both, and if it is the same, the higher count. */
function latest(a: Usage, b: Usage, start: 'minute' | 'day', count: 'minuteCount' | 'dayCount') {
  const later = a[start] > b[start] || (a[start] === b[start] && a[count] > b[count]) ? a : b;
  return { [start]: later[start], [count]: later[count] };
}

function oneMore(usage: Usage): Usage {
  return { ...usage, minuteCount: usage.minuteCount + 1, dayCount: usage.dayCount + 1 };
}
