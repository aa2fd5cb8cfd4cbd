import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import { promisify } from 'node:util';

/** How often the thread shows that it runs, and how late it can be without being held. */
const checkMs = 100;
const heldMs = 500;

/** Notices when the thread was held by a debugger. Long computations look the same, which does no harm there. */
class Holds {
  #count = 0;
  #lastSeen = performance.now();

  constructor() {
    setInterval(() => this.count(), checkMs).unref();
  }

  /** How often the thread was held so far. */
  count(): number {
    const now = performance.now();
    if (now - this.#lastSeen > heldMs) this.#count += 1;
    this.#lastSeen = now;
    return this.#count;
  }
}

/**
 * Makes timers that ran while a debugger held this thread start again, so that a function's own deadlines do not end a
 * request that is looked at. `setTimeout` and `AbortSignal.timeout` do; `timers/promises` does not.
 */
export function suspendTimersWhileHeld(): void {
  const holds = new Holds();
  const original = globalThis.setTimeout;
  const start = (callback: (...args: unknown[]) => void, milliseconds?: number, ...args: unknown[]) => {
    let seen = holds.count();
    const timer = original(() => {
      const now = holds.count();
      if (now === seen) {
        callback(...args);
        return;
      }
      seen = now;
      timer.refresh();
    }, milliseconds);
    return timer;
  };
  const patched = Object.assign(start, { [promisify.custom]: Reflect.get(original, promisify.custom) });
  Object.assign(globalThis, { setTimeout: patched });
  Object.assign(timers, { setTimeout: patched });
  syncBuiltinESMExports();
  AbortSignal.timeout = (milliseconds) => {
    const controller = new AbortController();
    const reason = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
    start(() => controller.abort(reason), milliseconds).unref();
    return controller.signal;
  };
}
