/**
 * The limits of a key in the words of docs/interface.md#rate-limits, and what its item in the table has to be. The only model of them:
 * limits.test.ts shows that the service does the same, rules/suspension.test.ts what follows from it. It shares no code with
 * the functions and takes its numbers from the interface. All times are whole Unix seconds.
 */
export interface Limits {
  readonly perMinute: number;
  readonly perDay: number;
}

export interface Usage {
  /** The starts of the last minute and day that counted a request, and how many they counted. */
  readonly minute: number;
  readonly minuteCount: number;
  readonly day: number;
  readonly dayCount: number;
  /** The first rejection of the last minute that had one, and the rejections that counted after it. */
  readonly rejectedSince: number;
  readonly rejections: number;
  readonly suspendedUntil: number;
}

export const unused: Usage = {
  minute: 0,
  minuteCount: 0,
  day: 0,
  dayCount: 0,
  rejectedSince: 0,
  rejections: 0,
  suspendedUntil: 0,
};

type Kind = 'admitted' | 'rejected' | 'suspended';

/** Which calls of the table are answered: every one, the first one of a request, or none. */
export type Answers = 'all' | 'first' | 'none';

const minuteLength = 60;
const dayLength = 86_400;
/** What starts later than that was stored by a wrong clock. */
const clockTolerance = 60;
const grace = 10;
const suspension = 600;

/** Rejections that suspend a key, after a first one in a minute: of the rest of the minute, or of half a minute. */
export function rejectionsThatSuspend(perMinute: number, rejectedSince: number): number {
  const rate = Math.min(10_000, Math.max(270, perMinute * 2.5));
  return Math.ceil((rate * Math.max(30, minuteLength - grace - (rejectedSince % minuteLength))) / 60);
}

/** A key and its item in the table. */
export class LimitedKey {
  /** Another function or an operator can change it. */
  stored: Usage;
  readonly limits: Limits;

  constructor(limits: Limits, stored: Partial<Usage> = {}) {
    this.limits = limits;
    this.stored = { ...unused, ...stored };
  }

  /** @param isWritten whether a rejection can be counted. It stays one if not. */
  request(now: number, isWritten = true): Expectation {
    const usage = at(now, this.stored);
    const kind = this.#count(decide(usage, this.limits, now), usage, now, isWritten);
    return new Expectation(kind, this.limits, this.stored, now);
  }

  #count(kind: Kind, usage: Usage, now: number, isWritten: boolean) {
    if (kind === 'admitted') {
      const { minute, minuteCount, day, dayCount } = oneMore(usage);
      this.stored = { ...this.stored, minute, minuteCount, day, dayCount };
    }
    if (kind !== 'rejected' || !isWritten) return kind;
    const { rejectedSince, rejections } = usage;
    if (rejectedSince < startOf(now, minuteLength))
      this.stored = { ...this.stored, rejectedSince: now, rejections: 0 };
    else if (now >= rejectedSince + grace) {
      const isLast = rejections + 1 >= rejectionsThatSuspend(this.limits.perMinute, rejectedSince);
      const suspendedUntil = isLast ? now + suspension : 0;
      this.stored = { ...this.stored, rejections: rejections + 1, suspendedUntil };
      if (isLast) return 'suspended';
    }
    return kind;
  }
}

/** What a client is told. */
export class Expectation {
  readonly kind: Kind | 'uncounted';
  readonly #limits: Limits;
  readonly #usage: Usage;
  readonly #now: number;

  /** @param usage what is known of the key after the request */
  constructor(kind: Kind | 'uncounted', limits: Limits, usage: Usage, now: number) {
    this.kind = kind;
    this.#limits = limits;
    this.#usage = usage;
    this.#now = now;
  }

  /** Seconds, of a 429. */
  get retryAfter(): number | undefined {
    const isRejection = this.kind === 'rejected' || this.kind === 'suspended';
    return isRejection ? this.#windows().shown.reset - this.#now : undefined;
  }

  get headers(): Readonly<Record<string, string>> {
    const { minute, day, shown } = this.#windows();
    const state = ({ left, reset }: typeof day) => `r=${left};t=${reset - this.#now}`;
    const { retryAfter } = this;
    return {
      'X-RateLimit-Limit': `${shown.limit}`,
      'X-RateLimit-Remaining': `${shown.left}`,
      'X-RateLimit-Reset': `${shown.reset}`,
      'RateLimit-Policy': `"minute";q=${minute.limit};w=60, "day";q=${day.limit};w=86400`,
      RateLimit: `"minute";${state(minute)}, "day";${state(day)}`,
      ...(retryAfter !== undefined && { 'Retry-After': `${retryAfter}` }),
    };
  }

  #windows() {
    const { perMinute, perDay } = this.#limits;
    const usage = at(this.#now, this.#usage);
    const minute = {
      limit: perMinute,
      left: Math.max(0, perMinute - usage.minuteCount),
      reset: usage.minute + minuteLength,
    };
    const day = { limit: perDay, left: Math.max(0, perDay - usage.dayCount), reset: usage.day + dayLength };
    if (this.kind === 'suspended') {
      // A suspension is shown as a full minute, of a day at most. A minute that is full can end later.
      const end = Math.min(usage.suspendedUntil, this.#now + dayLength);
      minute.reset = minute.left > 0 ? end : Math.max(end, minute.reset);
      minute.left = 0;
    }
    const bothFull = minute.left === 0 && day.left === 0;
    // The window with fewer requests left is shown. Of two full ones, it is the last to reset.
    const isDay = bothFull ? day.reset > minute.reset : day.left < minute.left;
    return { minute, day, shown: isDay ? day : minute };
  }
}

/** What an execution environment knows of a key: the highest count of each window that it was told, or that it reached by itself. */
export class Memory {
  #known = unused;

  remember(usage: Usage, now: number): void {
    const [told, known] = [at(now, usage), at(now, this.#known)];
    this.#known = { ...told, ...later(told, known, 'minute'), ...later(told, known, 'day') };
  }

  /** A request that the table does not answer. */
  request(limits: Limits, now: number): Expectation {
    const usage = at(now, this.#known);
    const kind = decide(usage, limits, now);
    this.#known = kind === 'admitted' ? oneMore(usage) : usage;
    return new Expectation(kind === 'admitted' ? 'uncounted' : kind, limits, usage, now);
  }
}

/**
 * Which requests of an execution environment ask the table, and how long each waits. After one that waits in vain, the next ones wait
 * for a shorter time. After three in a row, one request in four seconds asks.
 */
export class Patience {
  /** What can be: requests in a row that have waited in vain, 3 for more. */
  #inVain: ReadonlySet<number> = new Set([0]);
  #askedAt = -Infinity;

  /** Milliseconds that a request can wait at most. 0: it does not ask. More than one, if it is not known what others have met. */
  at(now: number): ReadonlySet<number> {
    const isPause = now >= this.#askedAt && now < this.#askedAt + 4;
    return new Set(
      [...this.#inVain].map((count) => (count === 3 && isPause ? 0 : count === 0 ? 1_000 : 250)),
    );
  }

  /** A request has asked or not. @param isInVain whether it has waited in vain. Undefined: not known */
  request(now: number, asks: boolean, isInVain?: boolean): void {
    if (!asks) this.#inVain = new Set([3]);
    else {
      const isPause = now >= this.#askedAt && now < this.#askedAt + 4;
      const before = [...this.#inVain].filter((count) => count < 3 || !isPause);
      this.#askedAt = now;
      this.#inVain = new Set([
        ...(isInVain === false ? [] : before.map((count) => Math.min(3, count + 1))),
        ...(isInVain === true ? [] : [0]),
      ]);
    }
  }
}

/** A key that one execution environment serves. */
export class KeyInEnvironment extends LimitedKey {
  readonly #memory = new Memory();
  readonly #patience = new Patience();

  /** @param isSlow whether what is not answered is waited for. Otherwise it is an error at once */
  override request(now: number, answers: boolean | Answers = 'all', isSlow = false): Expectation {
    const asks = this.asks(now);
    const told = asks ? this.#ask(now, answers) : undefined;
    this.#patience.request(now, asks, isSlow && told === undefined);
    return told ?? this.#memory.request(this.limits, now);
  }

  /** Whether a request would ask the table. */
  asks(now: number): boolean {
    return !this.#patience.at(now).has(0);
  }

  /** @returns undefined if the table decides nothing */
  #ask(now: number, answers: boolean | Answers): Expectation | undefined {
    // A request is counted in the current windows first, before anything is known of its item.
    const isCurrent =
      this.stored.minute === startOf(now, minuteLength) && this.stored.day === startOf(now, dayLength);
    const isAdmitted = decide(at(now, this.stored), this.limits, now) === 'admitted';
    if (answers === 'none' || (answers === 'first' && isAdmitted && !isCurrent)) return undefined;
    const told = super.request(now, answers !== 'first');
    this.#memory.remember(this.stored, now);
    return told;
  }
}

/** A call of the limiter that the table has got. */
export interface Evaluation {
  /** The item that its condition was evaluated on, and the item after it. */
  readonly before: Usage;
  readonly after: Usage;
  readonly isWritten: boolean;
  /** Whether the function knows what came of it. */
  readonly isReceived: boolean;
}

/**
 * What a request is told whose calls were these, in any order with those of others: each write is that of the model on the item that
 * it meets, and what the function was told last decides. @returns undefined if a write is another one
 */
export function explain(
  limits: Limits,
  now: number,
  calls: readonly Evaluation[],
  memory: Memory,
): Expectation | undefined {
  let told: Expectation | undefined;
  let decidedOn: Usage | undefined;
  for (const { before, after, isWritten, isReceived } of calls) {
    const key = new LimitedKey(limits, before);
    // A rejection is counted on what was known of the item: of two at the same time, the first one may not suspend the key.
    const known = Math.min(decidedOn?.rejections ?? Infinity, before.rejections);
    if (isWritten) key.stored = { ...before, rejections: known };
    let expected = key.request(now, isWritten);
    const others = before.rejections - known;
    if (isWritten && key.stored.rejectedSince === before.rejectedSince)
      key.stored = { ...key.stored, rejections: key.stored.rejections + others };
    if (isWritten && JSON.stringify(key.stored) !== JSON.stringify(after)) return undefined;
    if (!isReceived) continue;
    if (isWritten) expected = new Expectation(expected.kind, limits, after, now);
    decidedOn = before;
    // A request that is admitted is written.
    told = expected.kind === 'admitted' && !isWritten ? undefined : expected;
    if (told !== undefined) memory.remember(after, now);
  }
  return told ?? memory.request(limits, now);
}

function decide({ suspendedUntil, minuteCount, dayCount }: Usage, limits: Limits, now: number): Kind {
  if (now < suspendedUntil) return 'suspended';
  return minuteCount < limits.perMinute && dayCount < limits.perDay ? 'admitted' : 'rejected';
}

const startOf = (time: number, length: number) => Math.floor(time / length) * length;

/** The usage in the windows of a time: those that have ended, and those of a wrong clock, are empty. */
function at(now: number, usage: Usage): Usage {
  const windowOf = (start: number, count: number, length: number) => {
    const current = startOf(now, length);
    return start < current || start > now + clockTolerance ? [current, 0] : [start, count];
  };
  if (
    usage.minute === startOf(now, minuteLength) &&
    usage.day === startOf(now, dayLength) &&
    usage.rejectedSince <= now
  )
    return usage;
  const [minute, minuteCount] = windowOf(usage.minute, usage.minuteCount, minuteLength) as [number, number];
  const [day, dayCount] = windowOf(usage.day, usage.dayCount, dayLength) as [number, number];
  const rejectedSince = usage.rejectedSince > now + clockTolerance ? 0 : usage.rejectedSince;
  return { ...usage, minute, minuteCount, day, dayCount, rejectedSince };
}

const oneMore = (usage: Usage): Usage => ({
  ...usage,
  minuteCount: usage.minuteCount + 1,
  dayCount: usage.dayCount + 1,
});

/** The window that starts later. Of the same one, the higher count. */
function later(a: Usage, b: Usage, name: 'minute' | 'day'): Partial<Usage> {
  const count = `${name}Count` as const;
  const { [name]: start, [count]: counted } =
    a[name] > b[name] || (a[name] === b[name] && a[count] >= b[count]) ? a : b;
  return { [name]: start, [count]: counted };
}
