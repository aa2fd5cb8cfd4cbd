import { z } from 'zod';
import {
  customPlan,
  customPlanCeiling,
  type Limits,
  type Plan,
  planNames,
} from '../../functions/access/plans.ts';
import { KeyToolError } from './errors.ts';
import { grouped } from './format.ts';
import { redact } from './output.ts';

/** Limits as requested: both, one or none. */
export type GivenLimits = { readonly [K in keyof Limits]?: number | undefined };

/** A request for a new key. */
export interface KeyRequest {
  /** Who uses it: 1 to 100 characters. */
  readonly owner: string;
  readonly plan: Plan;
  /** On the custom plan only. */
  readonly limits?: GivenLimits | undefined;
  /** Up to 200 characters. */
  readonly note?: string | undefined;
}

const text = (max: number) =>
  z
    .string()
    .max(max, `must not be longer than ${max} characters`)
    // It is printed on terminals later.
    .regex(/^[^\p{C}\p{Zl}\p{Zp}]*$/u, 'must be one line of printable characters')
    .regex(/\S/, 'must not be empty')
    .refine((given) => redact(given) === given, 'must not contain an API key');

const requestSchema = z.object({
  owner: text(100),
  plan: z.enum(planNames),
  note: text(200).optional(),
});

/** A request that follows every rule. */
export interface CheckedRequest extends z.infer<typeof requestSchema> {
  readonly limits: Limits | undefined;
}

/** @throws KeyToolError that names every error */
export function checkRequest({ limits, ...request }: KeyRequest): CheckedRequest {
  const parsed = requestSchema.safeParse(request);
  if (!parsed.success) {
    const errors = parsed.error.issues.map(({ path, message }) => `--${path.join('.')} ${message}`);
    throw new KeyToolError('usage', `${errors.join('; ')}.`);
  }
  return { ...parsed.data, limits: checkLimits(parsed.data.plan, limits) };
}

/** The key's own limits, `undefined` on a plan with fixed limits. @throws KeyToolError */
export function checkLimits(plan: Plan, { perMinute, perDay }: GivenLimits = {}): Limits | undefined {
  if (plan !== customPlan) {
    if (perMinute === undefined && perDay === undefined) return undefined;
    throw new KeyToolError(
      'usage',
      `The limits of the ${plan} plan are fixed. --per-minute and --per-day need --plan ${customPlan}.`,
    );
  }
  if (perMinute === undefined || perDay === undefined) {
    throw new KeyToolError('usage', `A key on the ${customPlan} plan needs both --per-minute and --per-day.`);
  }
  for (const [name, value] of Object.entries({ '--per-minute': perMinute, '--per-day': perDay })) {
    if (!Number.isSafeInteger(value) || value < 1)
      throw new KeyToolError('usage', `${name} must be a whole number of at least 1.`);
  }
  if (perMinute > customPlanCeiling.perMinute) {
    throw new KeyToolError(
      'usage',
      `--per-minute must be at most ${grouped(customPlanCeiling.perMinute)} (got ${perMinute}): each request is one write to the key's item, and DynamoDB takes 1,000 a second for one item. Issue several keys instead.`,
    );
  }
  if (perDay < perMinute) {
    throw new KeyToolError(
      'usage',
      `--per-day must be at least --per-minute (got ${perDay} and ${perMinute}).`,
    );
  }
  if (perDay > customPlanCeiling.perDay) {
    throw new KeyToolError(
      'usage',
      `--per-day must be at most ${grouped(customPlanCeiling.perDay)} (got ${perDay}): that is ${grouped(customPlanCeiling.perMinute)} a minute all day.`,
    );
  }
  return { perMinute, perDay };
}
