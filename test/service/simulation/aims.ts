import { type Fault, faults } from 'dynamodb-interleavings';
import type { Random } from 'dynamodb-interleavings/simulation';

/** What the simulation of a seed is about. */

const others = new Set<Fault>([
  // No call arrives after its client has given it up: the model takes a call that is lost for ended.
  'late',
  // Reads lag, and pages are short, by the conditions below.
  'stale',
  'shortPage',
  'unprocessed',
  // The seeds stay what they were without it.
  'failedAfter',
  // Only a schedule of dynamodb-interleavings ends a process.
  'crashedBefore',
  'crashedAfter',
  'paused',
]);
export const simulatedFaults = faults.filter((fault) => !others.has(fault));

export type ActionName =
  'list' | 'create' | 'createOnce' | 'createAndRead' | 'other' | 'mistake' | 'wave' | 'turnPages';

/** What a seed is aimed at, one after the other: what is rare when everything happens at once. */
const aims = [
  {},
  {},
  // An index and replicas that lag read an animal that was just created.
  { lag: 1000, actions: ['createAndRead', 'createAndRead', 'list'], limits: 'wide' },
  // Many clients have few texts for their idempotency keys.
  { keys: 2, clients: 4, actions: ['createOnce'], texts: 2, limits: 'wide' },
  // Nothing answers.
  {
    kinds: ['hungBefore', 'hungAfter'],
    probability: 0.9,
    actions: ['list', 'other', 'create', 'createOnce'],
  },
  // A creation conflicts until its time is over.
  { kinds: ['conflict'], probability: 1, table: 'Pets', actions: ['createOnce'] },
  // Every write meets a transaction, or another write.
  { kinds: ['conflict', 'throttled'], probability: 0.9, table: 'Pets', actions: ['create', 'createOnce'] },
  // Only the limiter is throttled: an environment counts by itself.
  {
    kinds: ['throttled', 'lostBefore'],
    probability: 0.7,
    table: 'RateLimits',
    clients: 1,
    actions: ['wave'],
    limits: 'narrow',
  },
  // In a flood an operator suspends the key, or a write is refused.
  { keys: 1, clients: 1, actions: ['other'], flood: true, limits: 'narrow' },
  // The store is full.
  { pets: 60, actions: ['list', 'list', 'turnPages', 'create'], limits: 'wide', status: true },
  // Clients make mistakes, with a key that expires.
  { keys: 1, actions: ['mistake', 'mistake', 'other'], pace: 10_000, expiresWithin: 60 },
  // Requests meet the end of a minute and of a day.
  {
    startsAt: ['2026-07-01T12:00:58Z', '2026-07-01T23:59:58Z'],
    clients: 4,
    actions: ['wave', 'other'],
    pace: 300,
  },
] as const satisfies readonly Aim[];

export interface Aim {
  readonly startsAt?: readonly string[];
  readonly keys?: number;
  readonly clients?: number;
  readonly pets?: number;
  readonly lag?: number;
  readonly kinds?: readonly Fault[];
  readonly probability?: number;
  /** The only table whose calls meet faults. */
  readonly table?: string;
  readonly actions?: readonly ActionName[];
  readonly texts?: number;
  readonly limits?: 'narrow' | 'wide';
  readonly flood?: boolean;
  readonly status?: boolean;
  /** Seconds. */
  readonly expiresWithin?: number;
  /** Milliseconds between two actions at most. */
  readonly pace?: number;
}

/** Aims that every run of a few seeds has. */
export const aimCount = aims.length;

export function aimOf(seed: number): Aim {
  return aims[Math.abs(seed) % aims.length]!;
}

/** Milliseconds from the first requests of a flood until it is rejected for good. */
export const floodAfter = 12_500;

/** A flood begins at the start of a minute, so that it stays in it. */
export function floodStart(start: number): number {
  return Math.ceil(start / 60_000) * 60_000 + 5_000;
}

export interface Conditions {
  readonly kinds: readonly Fault[];
  /** How probable it is that a call meets a fault. */
  readonly probability: number;
  readonly table: string | undefined;
  readonly lag: number;
  readonly collisions: boolean;
  readonly flood: boolean;
  /** Writes that an item gets in a second. */
  readonly hot: number;
  /** Items in the answer of a query. */
  readonly fit: number;
  readonly operator: boolean;
  readonly status: boolean;
}

export function conditionsOf(random: Random, aim: Aim): Conditions {
  const faulty = random.chance(0.6);
  const some = simulatedFaults.filter(() => random.chance(0.5));
  return {
    kinds: aim.kinds ?? (faulty ? some : []),
    probability: aim.probability ?? random.pick([0.02, 0.1, 0.4]),
    table: aim.table,
    lag: aim.lag ?? random.pick([0, 0, 1000]),
    collisions: random.chance(0.15),
    flood: aim.flood ?? false,
    hot: random.chance(0.15) ? 3 + random.below(5) : Infinity,
    fit: random.chance(0.2) ? 1 + random.below(3) : Infinity,
    operator: random.chance(0.3) || aim.flood === true,
    status: aim.status ?? false,
  };
}
