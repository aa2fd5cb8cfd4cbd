import { inconstant } from './conduct.ts';
import { Footprint } from './footprint.ts';

/** Something that can happen next. */
export interface Choice {
  /** The same in every schedule that has come here in the same way. */
  readonly id: string;
  /** Whose step it is. The steps of one process keep their order. */
  readonly process: string;
  /** `wait`: it does not happen before time goes on. `event`: it need not happen at all. */
  readonly kind: 'step' | 'wait' | 'event';
  /** What is answered or waits. */
  readonly subject: string;
  /** Until when a subject can wait. */
  readonly until: number;
  /** It makes a difference only if time goes on before the next thing happens to the subject. */
  readonly needsTime: boolean;
  /** Of one that needs time: DynamoDB has the call before, so what comes of that can take the time. */
  readonly isApplied?: boolean;
  /** Of one that needs time: whether something happens until then, so far as it is known. */
  readonly isUseful: boolean;
  /** The subject has waited before: it goes on waiting while the others only repeat what they have done. */
  readonly isPatient: boolean;
  /** What decided that it can happen has read this. It becomes a part of its effects. */
  readonly footprint: Footprint;
  readonly take: () => void | Promise<void>;
}

/** What a step has done. */
export interface Effects {
  readonly footprint: Footprint;
  /** The times of the timers that it has set. */
  readonly timers: readonly number[];
  /** Processes that it has started. */
  readonly started: readonly string[];
}

/** A step that has been taken, or that time has gone on (no node). */
interface Event {
  readonly index: number;
  readonly node: Node | undefined;
  readonly choice: Pick<Choice, 'process' | 'subject'>;
  readonly effects: Effects;
  /** The last event of each process that happened before this one. Includes itself. */
  readonly clock: ReadonlyMap<string, number>;
}

type Step = Pick<Event, 'choice' | 'effects'>;
type Asleep = ReadonlyMap<string, Step>;

/** A point where something is chosen. */
interface Node {
  readonly choices: readonly Choice[];
  /** How many events were before. */
  readonly events: number;
  /** How many nodes were before time last went on. */
  readonly segment: number;
  /** Choices with which every continuation has been run already, in another order. */
  readonly asleep: Asleep;
  /** Choices that have been taken. */
  readonly done: Map<string, Step>;
  /** Processes of which every step is to be taken. */
  readonly processes: Set<string>;
  /** What is to be taken that needs time, although nothing that happens later was known here. */
  readonly timely: Set<string>;
  /** Nothing new has happened from here until time went on. */
  isIdle: boolean;
  taken: number;
}

const none: Asleep = new Map();
const time: Event['choice'] = { process: 'time', subject: '' };

/**
 * All schedules, depth first. With the reduction, one for each set of schedules that differ in nothing but the order of steps that
 * are independent: source sets and sleep sets (Abdulla, Aronis, Jonsson, Sagonas: Optimal Dynamic Partial Order Reduction, POPL
 * 2014, algorithm 1). That time goes on is no choice: it does when every call has been answered or waits, and depends on everything.
 */
export class Search {
  readonly #reduces: boolean;
  readonly #nodes: Node[] = [];
  readonly #events: Event[] = [];
  /** Whether what goes on waiting was left out because the others only repeated what they had done. */
  leavesOutEnds = false;
  #position = 0;
  #segment = 0;

  constructor(reduces: boolean) {
    this.#reduces = reduces;
  }

  /** Which choice to take. Undefined: every continuation has been run already. */
  choose(choices: readonly Choice[]): number | undefined {
    const known = this.#nodes[this.#position];
    if (known !== undefined) {
      this.#position += 1;
      if (known.choices.some(({ id }, index) => id !== choices[index]?.id)) throw anotherWay();
      return known.taken;
    }
    const asleep = this.#asleep();
    // What sleeps here can be in a race later, which the other choices of its process do not show.
    const isPartlyAsleep = choices.some(
      ({ id, process }) =>
        asleep.has(id) && choices.some((each) => each.process === process && !asleep.has(each.id)),
    );
    const all = !this.#reduces || isPartlyAsleep;
    const node: Node = {
      choices,
      events: this.#events.length,
      segment: this.#segment,
      asleep,
      done: new Map(),
      processes: new Set(all ? choices.map(({ process }) => process) : []),
      timely: new Set(),
      isIdle: false,
      taken: -1,
    };
    const first = choices.find(({ id, kind, isUseful }) => kind !== 'event' && isUseful && !asleep.has(id));
    if (first) node.processes.add(first.process);
    const taken = next(node);
    if (taken === undefined) return undefined;
    node.taken = taken;
    this.#nodes.push(node);
    this.#position += 1;
    return taken;
  }

  /** After a schedule. @throws Error if it has ended before */
  checkEnd(): void {
    if (this.#position < this.#nodes.length) throw anotherWay();
  }

  /** After the step that was chosen. */
  stepped(effects: Effects): void {
    const node = this.#nodes[this.#position - 1]!;
    if (this.#position < this.#nodes.length) return;
    const choice = node.choices[node.taken]!;
    node.done.set(choice.id, { choice, effects });
    const event = this.#reduces ? this.#add(node, choice, effects) : undefined;
    // What happened to a call could have waited for what this step has started, or its answer: also if the step came of the call.
    for (const at of effects.timers)
      for (const { choices, taken, events, timely } of this.#nodes.slice(this.#segment, -1)) {
        const isCause = event !== undefined && isBefore(this.#events[events]!, event);
        for (const { id, subject, needsTime, isApplied = false, until } of choices)
          if (needsTime && subject === choices[taken]!.subject && at < until && (isApplied || !isCause))
            timely.add(id);
      }
  }

  /** @param isIdle nothing new has happened since it last did */
  timePasses(isIdle: boolean): void {
    if (this.#position < this.#nodes.length) return;
    if (isIdle)
      for (const node of this.#nodes.slice(this.#segment)) {
        node.isIdle = true;
        this.leavesOutEnds ||= node.choices.some(({ isPatient }) => isPatient);
      }
    this.#segment = this.#nodes.length;
    if (this.#reduces) this.#add(undefined, time, { footprint: new Footprint(), timers: [], started: [] });
  }

  /** How many schedules are known to be left. Each can show that there are more. */
  get remaining(): number {
    return this.#nodes.filter((node) => next(node) !== undefined).length;
  }

  /** Goes back to the last point with another choice. False if there is none. */
  advance(): boolean {
    this.#position = 0;
    for (let node = this.#nodes.at(-1); node !== undefined; node = this.#nodes.at(-1)) {
      const taken = next(node);
      if (taken !== undefined) {
        node.taken = taken;
        this.#events.length = node.events;
        this.#segment = node.segment;
        return true;
      }
      this.#nodes.pop();
    }
    return false;
  }

  /** What is asleep after the last event. */
  #asleep(): Asleep {
    const last = this.#events.at(-1);
    if (!last?.node) return none;
    const { choices, taken, asleep, done } = last.node;
    const before = [...done].filter(([id]) => id !== choices[taken]!.id);
    return new Map([...asleep, ...before].filter(([, each]) => !areDependent(each, last)));
  }

  #add(node: Node | undefined, choice: Event['choice'], effects: Effects): Event {
    const index = this.#events.length;
    const clock = new Map<string, number>();
    const event: Event = { index, node, choice, effects, clock };
    for (const earlier of this.#events.toReversed()) {
      if (!areDependent(earlier, event) || isBefore(earlier, event)) continue;
      // Nothing else orders these two: the other order is another schedule.
      if (node && earlier.node && earlier.choice.process !== choice.process) this.#reverse(earlier, event);
      for (const [process, last] of earlier.clock)
        if ((clock.get(process) ?? -1) < last) clock.set(process, last);
    }
    clock.set(choice.process, index);
    this.#events.push(event);
    return event;
  }

  /** Sees to it that the later one of two events is also taken before the other one. */
  #reverse(first: Event, second: Event): void {
    if (first.effects.started.includes(second.choice.process)) return;
    const { choices, processes } = first.node!;
    const between = this.#events.slice(first.index + 1).filter((each) => !isBefore(first, each));
    const initials = [...between, second]
      .filter((each, index) => !between.slice(0, index).some((earlier) => isBefore(earlier, each)))
      .map(({ choice: { process } }) => process);
    if (initials.some((process) => processes.has(process))) return;
    const initial = initials.find((process) => choices.some((each) => each.process === process));
    // None: something orders the events that is not recorded.
    const added = initial === undefined ? choices.map(({ process }) => process) : [initial];
    for (const process of added) processes.add(process);
  }
}

function anotherWay(): Error {
  return inconstant('The same schedule went another way.');
}

/** The next choice that is to be taken at a node. */
function next({ choices, asleep, done, processes, timely, isIdle }: Node): number | undefined {
  const index = choices.findIndex(
    ({ id, kind, process, isUseful, isPatient }) =>
      !done.has(id) &&
      !asleep.has(id) &&
      (kind === 'event' || processes.has(process)) &&
      (isUseful || timely.has(id)) &&
      !(isPatient && isIdle),
  );
  return index < 0 ? undefined : index;
}

function isBefore({ index, choice }: Event, { clock }: Event): boolean {
  return (clock.get(choice.process) ?? -1) >= index;
}

function areDependent(a: Step, b: Step): boolean {
  const processes = [a.choice.process, b.choice.process];
  if (processes[0] === processes[1] || processes.includes(time.process)) return true;
  return a.effects.footprint.dependsOn(b.effects.footprint);
}
