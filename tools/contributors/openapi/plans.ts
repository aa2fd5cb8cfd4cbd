import { toleratedRate, toleratedRates } from '../../../functions/access/limiter-decisions.ts';
import { limitsOf, planNames } from '../../../functions/access/plans.ts';
import { usagePlanSettings } from '../../../lib/api/usage-plan-settings.ts';
import { presets } from '../../../lib/configuration/stages.ts';
import { titleCase } from '../../../lib/title-case.ts';

const { factor, least, most } = toleratedRates;
const number = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2 });

/** Rows of the plans for clients: what a key may send. */
export const limitsOfPlans = {
  head: ['Plan', 'Requests per minute', 'Requests per day'],
  rows: planNames.map((plan) => {
    const { perMinute, perDay } = limitsOf(plan) ?? {};
    return [
      titleCase(plan),
      ...[perMinute, perDay].map((limit) => (limit === undefined ? 'custom' : number.format(limit))),
    ];
  }),
};

/** Rows of the plans for operators, in an account with the quotas of a large Region. */
export const numbersOfPlans = {
  head: [
    'Plan',
    'Requests per minute',
    'Requests per day',
    'Suspended at 429s per minute',
    'Usage plan: requests per second',
    'Usage plan: burst',
  ],
  rows: planNames.map((plan) => {
    const limits = limitsOf(plan);
    const { rateLimit, burstLimit } = usagePlanSettings(plan, presets.prod.accountThrottle);
    const ofPlan =
      limits && [limits.perMinute, limits.perDay, toleratedRate(limits)].map((each) => number.format(each));
    return [
      titleCase(plan),
      ...(ofPlan ?? [
        "on the key's record",
        "on the key's record",
        `${factor} × its limit, but at least ${least} and at most ${number.format(most)}`,
      ]),
      number.format(rateLimit),
      number.format(burstLimit),
    ];
  }),
};
