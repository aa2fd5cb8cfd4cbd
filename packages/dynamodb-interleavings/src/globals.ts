import type crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { promisify } from 'node:util';
import { processes, type Random, type World } from './world.ts';

/** What code finds in the place of what Node.js has. */
export interface Machine {
  readonly world: World;
  /** Milliseconds by which its clock is ahead. */
  readonly clockOffset: number;
  /** In [0, 1). */
  readonly random: () => number;
  /** Those of node:crypto. Default: the same ones */
  readonly randomOfCrypto?: (() => number) | undefined;
  /** A UUID. Default: of its random numbers */
  readonly newId?: (() => string) | undefined;
}

type Run = (...values: unknown[]) => void;
interface Stoppable {
  readonly signal?: AbortSignal | undefined;
}

const real = { Date, Intl, setImmediate, clearImmediate, clearTimeout };
/** Above it, Node.js waits for a millisecond. */
const longestTimeout = 2 ** 31 - 1;
/** Handles of Node.js have lower ones. */
const firstHandle = 1e12;

/** An object with other members. */
function within<T extends object>(object: T, members: object): T {
  return Object.create(object, Object.getOwnPropertyDescriptors(members)) as T;
}

/** The clock of a machine. */
function clockOf(machine: () => Machine) {
  const now = () => Math.floor(machine().world.now + machine().clockOffset);
  const nanoseconds = () => BigInt(Math.round(machine().world.now * 1e6));
  const hrtime = ([seconds, rest]: [number, number] = [0, 0]): [number, number] => {
    const since = nanoseconds() - (BigInt(seconds) * 1_000_000_000n + BigInt(rest));
    return [Number(since / 1_000_000_000n), Number(since % 1_000_000_000n)];
  };
  const { format, formatToParts } = Object.getOwnPropertyDescriptors(real.Intl.DateTimeFormat.prototype);
  /** Without a date, a format has the time. */
  const ofFormats = {
    get format() {
      const bound = format.get!.call(this);
      return (date?: Date | number) => bound(date ?? now());
    },
    formatToParts(date?: Date | number) {
      return formatToParts.value!.call(this as never, date ?? now());
    },
  };
  function Format() {}
  Format.prototype = within(real.Intl.DateTimeFormat.prototype, ofFormats);
  const formatOf = (target: object, values: unknown[]) =>
    Reflect.construct(target as never, values, Format) as object;
  // As a function, too. Dates that were made before are instances.
  const MachineDate: DateConstructor = new Proxy(real.Date, {
    apply: () => new real.Date(now()).toString(),
    construct: (target, values, made: new () => object) =>
      Reflect.construct(target, values.length === 0 ? [now()] : values, made) as object,
    get: (target, name) => (name === 'now' ? now : (Reflect.get(target, name) as unknown)),
  });
  const DateTimeFormat = new Proxy(real.Intl.DateTimeFormat, {
    apply: (target, _, values) => formatOf(target, values),
    construct: formatOf,
  });
  return {
    Date: MachineDate,
    Intl: within(real.Intl, { DateTimeFormat }),
    performance: {
      now: () => machine().world.now,
      get timeOrigin() {
        return machine().clockOffset;
      },
    },
    uptime: () => machine().world.now / 1_000,
    ofFormats,
    hrtime: Object.assign(hrtime, { bigint: nanoseconds }),
  };
}

/** The timers of a machine. */
function timersOf(machine: () => Machine) {
  const running = new Map<number, () => void>();
  let handles = firstHandle;
  const start = (delay: unknown, run: () => void, repeats: boolean): object => {
    const [{ world }, id] = [machine(), (handles += 1)];
    const given = Math.trunc(Number(delay));
    const milliseconds = given >= 0 ? (given > longestTimeout ? 1 : given) : 0;
    let timer: ReturnType<World['after']>;
    const begin = (after: number): void => {
      timer = world.after(after, fire);
      running.set(id, () => world.cancel(timer));
    };
    function fire() {
      running.delete(id);
      if (repeats) begin(Math.max(1, milliseconds));
      run();
    }
    processes.getStore()?.sets?.(milliseconds);
    begin(milliseconds);
    const handle = {
      ref: () => handle,
      unref: () => handle,
      hasRef: () => true,
      refresh: () => {
        world.cancel(timer);
        begin(milliseconds);
        return handle;
      },
      close: () => stop(handle),
      [Symbol.dispose]: () => stop(handle),
      [Symbol.toPrimitive]: () => id,
    };
    return handle;
  };
  const stop = (handle: unknown): void => {
    const id = typeof handle === 'symbol' ? NaN : Number(handle);
    if (id <= firstHandle) real.clearTimeout(handle as NodeJS.Timeout);
    running.get(id)?.();
    running.delete(id);
  };
  const turns = new WeakMap<object, () => void>();
  const turn = (run: Run, ...values: unknown[]): NodeJS.Immediate => {
    const { world } = machine();
    let isOver = false;
    const end = (): void => {
      if (!isOver) world.turns -= 1;
      isOver = true;
    };
    world.turns += 1;
    const handle = real.setImmediate(() => {
      end();
      run(...values);
    });
    turns.set(handle, end);
    return handle;
  };
  const aborted = (signal: AbortSignal | undefined) =>
    Object.assign(new Error('The operation was aborted', { cause: signal?.reason }), {
      name: 'AbortError',
      code: 'ABORT_ERR',
    });
  const sleep = (milliseconds: unknown = 0, value?: unknown, { signal }: Stoppable = {}) =>
    new Promise((resolve, reject) => {
      const fail = (): void => reject(aborted(signal));
      if (signal?.aborted === true) return fail();
      const handle = start(milliseconds, () => resolve(value), false);
      signal?.addEventListener('abort', () => {
        stop(handle);
        fail();
      });
      return undefined;
    });
  const nextTurn = (value?: unknown) => new Promise((resolve) => turn(() => resolve(value)));
  async function* every(milliseconds = 1, value?: unknown, options: Stoppable = {}) {
    for (let at = machine().world.now + milliseconds; ; at += milliseconds)
      yield sleep(at - machine().world.now, value, options);
  }
  const functions = {
    setTimeout: Object.assign(
      (run: Run, milliseconds?: unknown, ...values: unknown[]) =>
        start(milliseconds ?? 0, () => run(...values), false),
      { [promisify.custom]: sleep },
    ),
    setInterval: (run: Run, milliseconds?: unknown, ...values: unknown[]) =>
      start(milliseconds ?? 0, () => run(...values), true),
    clearTimeout: stop,
    clearInterval: stop,
    setImmediate: Object.assign(turn, { [promisify.custom]: nextTurn }),
    clearImmediate: (handle: NodeJS.Immediate) => {
      turns.get(handle)?.();
      real.clearImmediate(handle);
    },
  };
  /** That of `AbortSignal`. */
  const timeout = (milliseconds: number): AbortSignal => {
    const controller = new AbortController();
    const reason = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
    processes.getStore()?.sets?.(milliseconds);
    machine().world.after(milliseconds, () => controller.abort(reason));
    return controller.signal;
  };
  const scheduler = {
    wait: (milliseconds: number, options?: Stoppable) => sleep(milliseconds, undefined, options),
    yield: () => nextTurn(),
  };
  return {
    functions,
    timeout,
    promises: { setTimeout: sleep, setInterval: every, setImmediate: nextTurn },
    scheduler,
  };
}

/** A UUID. */
export function idOf(random: () => number): string {
  const digits = () =>
    Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  const [a, b, c, d] = [digits(), digits(), digits(), digits()];
  return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-8${c.slice(1, 4)}-${c.slice(4)}${d}`;
}

/** The random numbers of a machine, which are not for secrets. */
function randomOf(machine: () => Machine) {
  const random = () => machine().random();
  const ofCrypto = () => {
    const { random: own, randomOfCrypto = own } = machine();
    return randomOfCrypto();
  };
  const below = (most: number) => Math.floor(ofCrypto() * most);
  const fill = <View extends ArrayBufferLike | NodeJS.ArrayBufferView>(
    view: View,
    offset = 0,
    size?: number,
  ): View => {
    const unit = 'BYTES_PER_ELEMENT' in view ? view.BYTES_PER_ELEMENT : 1;
    const bytes =
      'buffer' in view ? new Uint8Array(view.buffer, view.byteOffset, view.byteLength) : new Uint8Array(view);
    const end = size === undefined ? bytes.length : (offset + size) * unit;
    for (let at = offset * unit; at < end; at += 1) bytes[at] = below(256);
    return view;
  };
  /** Also with a callback as the last parameter. */
  const either =
    (draw: (...values: never[]) => unknown) =>
    (...values: unknown[]): unknown => {
      const last = values.at(-1);
      if (typeof last !== 'function') return draw(...(values as never[]));
      const drawn = draw(...(values.slice(0, -1) as never[]));
      process.nextTick(() => (last as Run)(null, drawn));
      return undefined;
    };
  const randomUUID = () => machine().newId?.() ?? idOf(ofCrypto);
  const getRandomValues = <View extends NodeJS.ArrayBufferView>(view: View): View => fill(view);
  const integer = (...[a, b]: number[]) => (b === undefined ? below(a!) : a! + below(b - a!));
  return {
    random,
    web: { getRandomValues, randomUUID },
    node: {
      getRandomValues,
      randomUUID,
      randomBytes: either((size: number) => fill(Buffer.alloc(size))),
      randomFill: either(fill),
      randomFillSync: fill,
      randomInt: either(integer),
    },
  };
}

/** Clock, timers and random numbers of a machine, which may be another one each time that they are used. */
export function scopeOf(machine: () => Machine) {
  const { hrtime, uptime, ofFormats, ...clock } = clockOf(machine);
  const timesOfProcess = { hrtime, uptime };
  const { functions, timeout, promises, scheduler } = timersOf(machine);
  const { random, web, node } = randomOf(machine);
  /** Of Node.js, what is another one. */
  const modules: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    'node:crypto': node,
    'node:timers': functions,
    'node:timers/promises': promises,
  };
  const webcrypto = within(globalThis.crypto, { ...web, subtle: globalThis.crypto.subtle });
  const found = new Map<string, object>();
  return {
    ...clock,
    ...functions,
    Math: within(Math, { random }),
    crypto: webcrypto,
    timesOfProcess,
    /** A module of Node.js as it is required. */
    builtin: (id: string): object | undefined => {
      const name = id.startsWith('node:') ? id : `node:${id}`;
      const members = modules[name];
      if (members === undefined) return undefined;
      const original = process.getBuiltinModule(name) as {
        readonly webcrypto?: object;
        readonly scheduler?: object;
      };
      if (!found.has(name))
        found.set(
          name,
          within(original, {
            ...members,
            ...(original.webcrypto && { webcrypto }),
            ...(original.scheduler && { scheduler: within(original.scheduler, scheduler) }),
          }),
        );
      return found.get(name);
    },
    /** What is replaced in this process, by the object that has it. */
    replaced: (): readonly (readonly [object: object, members: object])[] => [
      [globalThis, { Date: clock.Date, ...functions }],
      [real.Intl.DateTimeFormat.prototype, ofFormats],
      [real.Date.prototype, { constructor: clock.Date }],
      [performance, clock.performance],
      [process, timesOfProcess],
      [AbortSignal, { timeout }],
      [Math, { random }],
      [globalThis.crypto, web],
      [process.getBuiltinModule('node:timers/promises').scheduler, scheduler],
      ...Object.entries(modules).map(
        ([name, members]) => [process.getBuiltinModule(name) as typeof crypto, members] as const,
      ),
    ],
  };
}

/** Replaces clock, timers and random numbers of this process until the function that is returned is called. */
export function replaceGlobals(machine: () => Machine & { readonly random: Random['next'] }): () => void {
  const all = scopeOf(machine)
    .replaced()
    .flatMap(([object, members]) =>
      Object.entries(Object.getOwnPropertyDescriptors(members)).map(
        ([name, member]) => [object, name, member, Object.getOwnPropertyDescriptor(object, name)] as const,
      ),
    )
    // `getRandomValues` of node:crypto is that of the global one.
    .filter(([, , , original]) => original?.configurable !== false);
  for (const [object, name, member, original] of all)
    Object.defineProperty(object, name, {
      ...member,
      enumerable: original?.enumerable ?? true,
      configurable: true,
    });
  syncBuiltinESMExports();
  return () => {
    for (const [object, name, , original] of all)
      if (original) Object.defineProperty(object, name, original);
      else Reflect.deleteProperty(object, name);
    syncBuiltinESMExports();
  };
}
