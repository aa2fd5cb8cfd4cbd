import { syncBuiltinESMExports } from 'node:module';
import type { Random, World } from './world.ts';

/** What code finds in the place of what Node.js has. */
export interface Machine {
  readonly world: World;
  /** Milliseconds by which its clock is ahead. */
  readonly clockOffset: number;
  /** In [0, 1). */
  readonly random: () => number;
}

type Run = (...values: unknown[]) => void;

/** Clock, timers and random numbers of a machine, which may be another one each time that they are used. */
export function scopeOf(machine: () => Machine) {
  const now = () => Math.floor(machine().world.now + machine().clockOffset);
  class MachineDate extends Date {
    constructor(...values: []) {
      super(...(values.length === 0 ? ([now()] as unknown as []) : values));
    }
    static override now = now;
  }
  const handles = new WeakMap<object, { readonly stop: () => void }>();
  const start = (milliseconds: number, run: () => void, repeats: boolean): object => {
    const { world } = machine();
    let timer = world.after(milliseconds, fire);
    function fire() {
      if (repeats) timer = world.after(Math.max(1, milliseconds), fire);
      run();
    }
    const handle = {
      ref: () => handle,
      unref: () => handle,
      hasRef: () => true,
      [Symbol.toPrimitive]: () => 0,
    };
    handles.set(handle, { stop: () => world.cancel(timer) });
    return handle;
  };
  const stop = (handle: unknown) => {
    if (typeof handle === 'object' && handle !== null) handles.get(handle)?.stop();
  };
  const random = () => machine().random();
  const hex = (digits: number) =>
    Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join('');
  return {
    Date: MachineDate,
    Math: Object.create(Math, { random: { value: random } }) as Math,
    random,
    performance: { now: () => machine().world.now },
    setTimeout: (run: Run, milliseconds = 0, ...values: unknown[]) =>
      start(milliseconds, () => run(...values), false),
    setInterval: (run: Run, milliseconds = 0, ...values: unknown[]) =>
      start(milliseconds, () => run(...values), true),
    clearTimeout: stop,
    clearInterval: stop,
    randomUUID: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
    /** That of `AbortSignal`. */
    timeout: (milliseconds: number): AbortSignal => {
      const controller = new AbortController();
      const reason = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
      machine().world.after(milliseconds, () => controller.abort(reason));
      return controller.signal;
    },
    /** That of `node:timers/promises`. */
    sleep: (milliseconds = 0, value?: unknown, { signal }: { signal?: AbortSignal } = {}) =>
      new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        const { world } = machine();
        const timer = world.after(milliseconds, () => resolve(value));
        signal?.addEventListener('abort', () => {
          world.cancel(timer);
          reject(Object.assign(new Error('The operation was aborted'), { name: 'AbortError' }));
        });
      }),
  };
}

/** Replaces clock, timers and random numbers of this process until the function that is returned is called. */
export function replaceGlobals(machine: () => Machine & { readonly random: Random['next'] }): () => void {
  const scope = scopeOf(machine);
  const replaced: readonly (readonly [object: object, name: string, value: unknown])[] = [
    ...(['Date', 'setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'] as const).map(
      (name) => [globalThis, name, scope[name]] as const,
    ),
    [AbortSignal, 'timeout', scope.timeout],
    [Math, 'random', scope.random],
    [performance, 'now', scope.performance.now],
    [globalThis.crypto, 'randomUUID', scope.randomUUID],
    [process.getBuiltinModule('node:crypto'), 'randomUUID', scope.randomUUID],
    [process.getBuiltinModule('node:timers/promises'), 'setTimeout', scope.sleep],
    ...(['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'] as const).map(
      (name) => [process.getBuiltinModule('node:timers'), name, scope[name]] as const,
    ),
  ];
  const originals = replaced.map(([object, name]) => Object.getOwnPropertyDescriptor(object, name));
  for (const [object, name, value] of replaced)
    Object.defineProperty(object, name, { value, configurable: true, writable: true });
  syncBuiltinESMExports();
  return () => {
    for (const [index, [object, name]] of replaced.entries()) {
      const original = originals[index];
      if (original) Object.defineProperty(object, name, original);
      else Reflect.deleteProperty(object, name);
    }
    syncBuiltinESMExports();
  };
}
