/** Requests per UTC minute and per UTC day, each at least 1. */
export interface Limits {
  readonly perMinute: number;
  readonly perDay: number;
}

/** The lengths of the windows in Unix seconds, which have no leap seconds. */
export const secondsPerMinute = 60;
export const secondsPerDay = 86_400;

/** Start of the window that contains `now`. All times are Unix seconds. */
export function windowStart(now: number, length: number): number {
  return Math.floor(now / length) * length;
}

/** docs/interface.md#rate-limits: the plans whose limits are the same for every key. */
export const fixedPlans = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
} as const satisfies Record<string, Limits>;

/** The plan whose limits are defined on each key's record ("custom" in the interface). */
export const customPlan = 'enterprise';

export type FixedPlan = keyof typeof fixedPlans;
export type Plan = FixedPlan | typeof customPlan;

export const planNames: readonly Plan[] = [...(Object.keys(fixedPlans) as FixedPlan[]), customPlan];

/**
 * The highest limits of one key: each request is a write to its item, and DynamoDB permits 1,000 of them a second.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
 */
export const customPlanCeiling: Limits = { perMinute: 60_000, perDay: 60_000 * 60 * 24 };

/** The limits of a plan, or `undefined` if they are defined on each key's record. */
export function limitsOf(plan: Plan): Limits | undefined {
  return plan === customPlan ? undefined : fixedPlans[plan];
}
