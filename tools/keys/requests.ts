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

/** The limits of a key's own as they are asked for: perhaps only one of them, or none. */
export type GivenLimits = { readonly [K in keyof Limits]?: number | undefined };

/** What a new key is to be. */
export interface KeyRequest {
  /** Who holds it: 1 to 100 characters. */
  readonly owner: string;
  readonly plan: Plan;
  /** On the custom plan, and only there. */
  readonly limits?: GivenLimits | undefined;
  /** Up to 200 characters. */
  readonly note?: string | undefined;
}

const text = (max: number) =>
  z
    .string()
    .max(max, `must not be longer than ${max} characters`)
    // Whatever is stored is printed on terminals later.
    .regex(/^[^\p{C}\p{Zl}\p{Zp}]*$/u, 'must be printable characters on one line')
    .regex(/\S/, 'must not be empty, nor only white space')
    .refine((given) => redact(given) === given, 'must not hold a key');

const requestSchema = z.object({
  owner: text(100),
  plan: z.enum(planNames),
  note: text(200).optional(),
});

/** A request whose every rule has been checked. */
export interface CheckedRequest extends z.infer<typeof requestSchema> {
  readonly limits: Limits | undefined;
}

/** @throws KeyToolError naming every fault */
export function checkRequest({ limits, ...request }: KeyRequest): CheckedRequest {
  const parsed = requestSchema.safeParse(request);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`);
    throw new KeyToolError('usage', `${faults.join('; ')}.`);
  }
  return { ...parsed.data, limits: checkLimits(parsed.data.plan, limits) };
}

/** The limits of a key's own, or `undefined` on a plan that has its own. @throws KeyToolError */
export function checkLimits(plan: Plan, { perMinute, perDay }: GivenLimits = {}): Limits | undefined {
  if (plan !== customPlan) {
    if (perMinute === undefined && perDay === undefined) return undefined;
    throw new KeyToolError(
      'usage',
      `The limits of the ${plan} plan are fixed: only ${customPlan} keys have their own.`,
    );
  }
  if (perMinute === undefined || perDay === undefined) {
    throw new KeyToolError('usage', `A key on the ${customPlan} plan needs both --per-minute and --per-day.`);
  }
  for (const [name, value] of Object.entries({ '--per-minute': perMinute, '--per-day': perDay })) {
    if (!Number.isSafeInteger(value) || value < 1)
      throw new KeyToolError('usage', `${name} must be a whole number, 1 or more.`);
  }
  if (perMinute > customPlanCeiling.perMinute) {
    throw new KeyToolError(
      'usage',
      `--per-minute ${perMinute} is more than one key can have. Each request is one write to the key's own item, and DynamoDB takes 1,000 a second for one item: ${grouped(customPlanCeiling.perMinute)} a minute. Issue several keys instead.`,
    );
  }
  if (perDay < perMinute) {
    throw new KeyToolError(
      'usage',
      `--per-day ${perDay} is less than --per-minute ${perMinute}: a single minute would use up more than the day.`,
    );
  }
  if (perDay > customPlanCeiling.perDay) {
    throw new KeyToolError(
      'usage',
      `--per-day ${perDay} is more than one key can ever use: ${grouped(customPlanCeiling.perMinute)} a minute all day are ${grouped(customPlanCeiling.perDay)}.`,
    );
  }
  return { perMinute, perDay };
}
