import type { UnixSeconds } from '../runtime/unix-time.ts';
import type { Limits } from './plans.ts';
import { type Decision, decideUncounted, unused, type Usage } from './limiter-decisions.ts';

/** Keys that are remembered, the last used ones. */
const maxKeys = 1_000;

/**
 * What an execution environment knows of its keys: their usage in the last answer of the table, and what it admitted
 * uncounted since. It decides when the table does not answer. So a full window stays full, a suspension lasts, and what an
 * environment admits uncounted in a window is at most the limit.
 */
export class LimiterMemory {
  readonly #usages = new Map<string, Usage>();

  remember(keyHash: string, usage: Usage): void {
    // The order of a map is that of insertion: the first key is the one that was not used for the longest time.
    this.#usages.delete(keyHash);
    this.#usages.set(keyHash, usage);
    const [oldest] = this.#usages.keys();
    if (this.#usages.size > maxKeys && oldest !== undefined) this.#usages.delete(oldest);
  }

  decide(keyHash: string, limits: Limits, now: UnixSeconds): Decision {
    const decision = decideUncounted(this.#usages.get(keyHash) ?? unused, limits, now);
    this.remember(keyHash, decision.usage);
    return decision;
  }
}
