import { Stack } from 'aws-cdk-lib';
import { type IRestApi, Period, type RestApi, UsagePlan } from 'aws-cdk-lib/aws-apigateway';
import { Construct } from 'constructs';
import { customPlanCeiling, limitsOf, type Plan, planNames } from '../../functions/access/plans.ts';
import type { Throttle } from '../configuration/settings.ts';
import { titleCase } from '../title-case.ts';
import { usagePlanSettings } from './usage-plan-settings.ts';

/** Describes a usage plan to operators who see it in the console. */
function usagePlanDescription(plan: Plan): string {
  const format = (count: number): string => count.toLocaleString('en-US');
  const limits = limitsOf(plan);
  const numbers =
    limits === undefined
      ? `set on each key, at most ${format(customPlanCeiling.perMinute)} requests a minute`
      : `${format(limits.perMinute)} requests a minute, ${format(limits.perDay)} a day`;
  return (
    `Limits of plan ${plan}: ${numbers}. The functions enforce them. The numbers of this usage plan are larger, ` +
    'because it is a backstop: it must not reject a client within its limits, and it must let through enough of a ' +
    'flood for the key to be suspended. See docs/limits.md#all-numbers.'
  );
}

/** One usage plan for each plan, bound to the API's stage. `npm run keys` adds keys to them. */
export class UsagePlans extends Construct {
  readonly plans = new Map<Plan, UsagePlan>();

  constructor(scope: Construct, id: string, { api, account }: { api: RestApi; account: Throttle }) {
    super(scope, id);
    let previous: UsagePlan | undefined;
    for (const plan of planNames) {
      const { rateLimit, burstLimit, quota } = usagePlanSettings(plan, account);
      const usagePlan = new UsagePlan(this, titleCase(plan), {
        name: `${Stack.of(this).stackName}-${plan}`,
        description: usagePlanDescription(plan),
        // The cast is needed because CDK's classes and interfaces differ under exactOptionalPropertyTypes.
        apiStages: [{ api: api as IRestApi, stage: api.deploymentStage }],
        throttle: { rateLimit, burstLimit },
        ...(quota !== undefined && { quota: { limit: quota, period: Period.DAY } }),
      });
      // They are deployed one after the other, because the management API permits one UpdateUsagePlan every 20 seconds per account:
      // https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html
      if (previous !== undefined) usagePlan.node.addDependency(previous);
      previous = usagePlan;
      this.plans.set(plan, usagePlan);
    }
  }
}
