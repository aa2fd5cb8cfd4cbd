import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';

/** Numbers that look random, the same for the same seed (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** Numbers of their own for a part of a simulation, whatever else happens in it. */
  static of(seed: number, part: string): Random {
    let state = seed;
    for (const letter of part) state = Math.imul(state ^ letter.codePointAt(0)!, 0x01000193);
    return new Random(state);
  }

  /** In [0, 1). */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };

  /** A whole number in [0, below). */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }
}

/** What runs for a request: an execution environment. `paused`: its timers and answers wait. `crashed`: it has none any more. */
export interface Process {
  state: 'running' | 'paused' | 'crashed';
  /** Something happens to it that it can go on with. */
  readonly wake?: (what: string, call?: object) => void;
  /** It sets a timer. */
  readonly sets?: (milliseconds: number) => void;
  /** UUIDs that it has drawn in this step, but those that the SDK puts in the header of a call. */
  readonly ids?: Set<string>;
}

/** The process that runs, whoever calls its code. */
export const processes = new AsyncLocalStorage<Process>();

/** Something that happens at a time. */
export interface Timer {
  readonly at: number;
  readonly run: () => unknown;
  /** Whose it is. */
  readonly process: Process | undefined;
}

/** The time, and what happens in it. Nothing waits for real time. */
export class World {
  /** Milliseconds since the Unix epoch, by a clock that is right. */
  now: number;
  /** For the packages of a bundle. In [0, 1). */
  random: () => number;
  /** A UUID, for the packages of a bundle. */
  newId: (() => string) | undefined;
  /** Turns of the event loop that code waits for. */
  turns = 0;
  #timers: Timer[] = [];

  constructor(now: number, random: () => number) {
    this.now = now;
    this.random = random;
  }

  /** Every timer that can go off, the next one first. Of those at the same time, the one that was set first. */
  get timers(): readonly Timer[] {
    return this.#timers.filter(({ process }) => process?.state !== 'paused');
  }

  /** @param process whose timer it is. Default: it runs for whoever sets it */
  after(milliseconds: number, run: () => unknown, process = processes.getStore()): Timer {
    // Faster than `AsyncLocalStorage.bind`.
    const scope = new AsyncResource('Timer');
    const timer = {
      at: this.now + Math.max(0, milliseconds),
      run: () => scope.runInAsyncScope(run),
      process,
    };
    if (process?.state === 'crashed') return timer;
    const index = this.#timers.findLastIndex(({ at }) => at <= timer.at);
    this.#timers.splice(index + 1, 0, timer);
    return timer;
  }

  cancel(timer: Timer | undefined): void {
    this.#timers = this.#timers.filter((each) => each !== timer);
  }

  /** What the packages of a bundle draw. */
  get ofPackages(): Pick<World, 'random' | 'newId'> {
    return { random: this.random, newId: this.newId };
  }

  sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.after(milliseconds, resolve));
  }

  /** Ends a process. */
  end(process: Process): void {
    process.state = 'crashed';
    this.#timers = this.#timers.filter((timer) => timer.process !== process);
  }

  /** Lets the next thing happen. False if there is none. */
  step(): boolean {
    const [timer] = this.timers;
    if (timer === undefined) return false;
    this.cancel(timer);
    // What was due in a pause happens after it.
    this.now = Math.max(this.now, timer.at);
    timer.process?.wake?.(`${this.now} timer`);
    timer.run();
    return true;
  }
}

/** After everything that can go on without time has gone on: promises are settled before the next turn of the event loop. */
export async function settled(): Promise<void> {
  await setImmediate();
}
