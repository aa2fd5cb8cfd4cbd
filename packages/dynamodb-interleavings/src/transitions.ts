import type { Call } from './call.ts';
import { type Fate, type Fault, faults } from './faults.ts';
import { Footprint } from './footprint.ts';
import type { Actor } from './conduct.ts';
import type { Network } from './network.ts';
import type { Process } from './world.ts';

/**
 * A request that runs, with random numbers of its own. Those of node:crypto are drawn apart, because a library that keeps a pool of them
 * draws from it only now and then, which would change the others.
 */
export interface RequestProcess extends Process, Actor {
  readonly index: number;
  readonly random: () => number;
  readonly randomOfCrypto: () => number;
  /** In the order in which they were sent. */
  readonly calls: Call[];
  readonly ids: Set<string>;
}

/** A call that has not come to its end. */
export interface Pending {
  readonly id: string;
  /** Whose step its next one is. */
  readonly process: string;
  readonly owner: RequestProcess | undefined;
  readonly call: Call;
  /**
   * `sent`: nothing has happened to it. `paused`: its process stands still before it. `applied`: DynamoDB has, and the answer is on
   * its way. `late`: its client has given it up, and DynamoDB does not have it yet.
   */
  state: 'sent' | 'paused' | 'applied' | 'late';
  /** Of one that is applied: gives the client the answer. */
  tell?: () => void | Promise<void>;
  /** It has been waited for while time went on. */
  isSlow: boolean;
  /** Nothing happens to it before time goes on. */
  waits: boolean;
}

/**
 * What decides whether something can happen, beside the call itself. Whoever reads what other requests can change is recorded as a
 * reader of it: the step that is taken then depends on the steps that change it, so that no guard can be forgotten. The tables record
 * by themselves. How many faults and delays are left need not be recorded: they only become fewer, and so make nothing possible.
 */
export interface Situation {
  readonly network: Network;
  readonly kinds: readonly Fault[];
  readonly hasFaults: boolean;
  readonly hasDelays: boolean;
  /** Whether its process can go on standing still. */
  readonly canStandStill: boolean;
  /** Whether a process can be seen to stand still, which depends on the options alone. */
  readonly seesPauses: boolean;
  /** Whether all requests have ended. Recorded. */
  readonly hasEnded: () => boolean;
}

export type Happening = Fate | 'item' | 'applied' | 'told' | 'arrives' | 'resumes' | 'waits';

/** Something that can happen to a call. */
interface Transition {
  readonly name: Happening;
  /** Of calls in this state. */
  readonly of: readonly Pending['state'][];
  /** In how many ways it can happen. */
  readonly guard: (pending: Pending, situation: Situation) => number;
  /** It makes a difference only if time goes on before the next thing happens to the call. */
  readonly needsTime?: boolean;
  /** Of one that needs time: DynamoDB has the call before, so what comes of that can take the time. */
  readonly isApplied?: boolean;
}

/** Something that can happen to a call now. */
interface Possibility extends Required<Pick<Transition, 'name' | 'needsTime' | 'isApplied'>> {
  readonly variant: number;
  /** What decided that it can happen. */
  readonly footprint: Footprint;
}

/** What is the same for a call that writes nothing: a read, or one that DynamoDB refuses. */
const twins: Readonly<Partial<Record<Fate, Fault>>> = {
  lostAfter: 'lostBefore',
  late: 'lostBefore',
  hungAfter: 'hungBefore',
  unreadableAfter: 'unreadableBefore',
  failedAfter: 'failed',
  crashedAfter: 'crashedBefore',
};

/** One that arrives later can be refused now, and not then. */
function isSameAsTwin(fate: Fault, { call }: Pending, { kinds, network }: Situation): boolean {
  const twin = twins[fate];
  if (twin === undefined || !kinds.includes(twin)) return false;
  return fate === 'late' ? network.isRead(call) : !network.writes(call);
}

const faultTransitions = faults.map((fate): Transition => {
  const ofProcess = fate === 'paused' || fate.startsWith('crashed');
  return {
    name: fate,
    of: ['sent'],
    // Without a timer that goes off meanwhile, a pause is none.
    needsTime: fate === 'paused',
    guard: (pending, situation) => {
      const { kinds, hasFaults, network, seesPauses } = situation;
      if (!hasFaults || !kinds.includes(fate) || isSameAsTwin(fate, pending, situation)) return 0;
      if (ofProcess && pending.owner === undefined) return 0;
      if (fate === 'paused' && !seesPauses) return 0;
      return network.typicalWays(fate, pending.call);
    },
  };
});

/** Everything that can happen to a call, what is most likely first. */
const transitions: readonly Transition[] = [
  { name: 'resumes', of: ['paused'], guard: () => 1 },
  { name: 'arrives', of: ['late'], guard: () => 1 },
  { name: 'told', of: ['applied'], guard: () => 1 },
  { name: 'item', of: ['sent'], guard: ({ call }, { network }) => Number(network.hasMore(call)) },
  { name: 'answered', of: ['sent'], guard: ({ call }, { network }) => Number(!network.hasMore(call)) },
  ...faultTransitions,
  {
    name: 'applied',
    of: ['sent'],
    guard: ({ call, isSlow }, { network, hasDelays }) =>
      Number((isSlow || hasDelays) && !network.hasMore(call)),
    needsTime: true,
    isApplied: true,
  },
  {
    name: 'waits',
    of: ['sent', 'applied', 'paused', 'late'],
    guard: ({ state, isSlow }, { hasDelays, canStandStill, hasEnded }) => {
      if (state === 'late') return Number(!hasEnded());
      return Number(state === 'paused' ? canStandStill : isSlow || hasDelays);
    },
    needsTime: true,
  },
];

/**
 * What can happen to a call, each way of it. Each has read what decided that it can. The first one, which can always happen, has
 * also read what decided that others cannot.
 */
export function possible(pending: Pending, situation: Situation): Possibility[] {
  const { network } = situation;
  const refused = new Footprint();
  const all: Possibility[] = [];
  for (const { name, of, guard, needsTime = false, isApplied = false } of transitions) {
    if (!of.includes(pending.state)) continue;
    const read = (network.tables.footprint = new Footprint());
    const ways = guard(pending, situation);
    if (ways === 0) refused.include(read);
    const isFault = (faults as readonly string[]).includes(name);
    const known = ways > 1 && isFault ? network.ways(name as Fault, pending.call) : ways;
    for (let way = 0; way < ways; way += 1)
      all.push({
        name,
        variant: known > 1 ? (way + 0.5) / known : 0,
        needsTime,
        isApplied,
        footprint: new Footprint().include(read),
      });
  }
  all[0]!.footprint.include(refused);
  return all;
}

/** Until when what is pending can wait. What a paused process waits for has no end. */
export function untilOf({ state, owner, call }: Pending): number {
  return state === 'late' || owner?.state === 'paused' ? Infinity : call.deadline;
}
