import type { Ratio } from '../measures/ratio.ts';

/** What a figure of the service may be at most, relative to a peer. */
export interface Limit {
  /** The median of `runsOfGoal` runs must not exceed it. */
  readonly goal?: number;
  /** One run must not exceed it. It is 5 % above the highest of ten. */
  readonly atMost: number;
}

/** A goal is for as many runs: one run is at the mercy of the machine. */
export const runsOfGoal = 10;

/** A limit for each ratio that is measured. */
const limits: Readonly<Record<Ratio['measure'], Readonly<Record<string, Limit>>>> = {
  warm: {
    'list / parts': { goal: 0.5, atMost: 0.46 },
    'create with Idempotency-Key / parts': { goal: 0.5, atMost: 0.38 },
    'get / bare handler': { atMost: 1.28 },
    'authorize / bare handler': { atMost: 1.23 },
  },
  burst: {
    'list / parts': { goal: 0.7, atMost: 0.67 },
    'create with Idempotency-Key / parts': { goal: 0.7, atMost: 0.67 },
    'list / bare handler': { goal: 0.83, atMost: 0.92 },
  },
  share: {
    'list / parts': { goal: 0.7, atMost: 0.75 },
    'create with Idempotency-Key / parts': { goal: 0.7, atMost: 0.67 },
    'list / bare handler': { goal: 0.83, atMost: 0.98 },
  },
};

export function limitOf({ measure, operation, peer }: Ratio): Limit {
  const limit = limits[measure][`${operation} / ${peer}`];
  if (limit === undefined) throw new Error(`${operation} has no limit relative to ${peer} (${measure})`);
  return limit;
}
