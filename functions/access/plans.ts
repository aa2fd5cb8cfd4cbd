/**
 * The plan table: the only place where the numbers of the plans stand (interface, section 8).
 * Usage plans, the authorizer, the rate headers, the key tool and the docs all read it.
 */

/** What a key may send: whole requests per fixed UTC window. */
export interface Limits {
  /** Requests per UTC minute, at least 1. */
  readonly perMinute: number;
  /** Requests per UTC day, at least 1. */
  readonly perDay: number;
}

/** Plans whose limits are the same for every key. */
export const fixedPlans = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
} as const satisfies Record<string, Limits>;

/** The plan whose limits stand on each key's own record ("custom" in the interface). */
export const customPlan = 'enterprise';

export type FixedPlan = keyof typeof fixedPlans;
export type Plan = FixedPlan | typeof customPlan;

export const planNames = ['free', 'pro', 'business', customPlan] as const satisfies readonly Plan[];

/**
 * The most that one key can be given. Every request of a key is one write to its item in the RateLimits
 * table, and DynamoDB serves at most 1,000 write units a second for one item:
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
 */
export const customPlanCeiling: Limits = { perMinute: 60_000, perDay: 60_000 * 60 * 24 };

/** The limits of a plan, or `undefined` where they stand on the key's own record. */
export function limitsOf(plan: Plan): Limits | undefined {
  return plan === customPlan ? undefined : fixedPlans[plan];
}
