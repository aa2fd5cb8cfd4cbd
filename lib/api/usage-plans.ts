import { Stack } from 'aws-cdk-lib';
import { type IRestApi, Period, type RestApi, UsagePlan } from 'aws-cdk-lib/aws-apigateway';
import { Construct } from 'constructs';
import { customPlanCeiling, limitsOf, type Plan, planNames } from '../../functions/access/plans.ts';
import { titleCase } from '../title-case.ts';

/** The numbers of a usage plan in API Gateway. */
export interface UsagePlanSettings {
  /** Tokens that the bucket gains, per second. */
  readonly rateLimit: number;
  /** Tokens that the bucket holds. */
  readonly burstLimit: number;
  /** Requests per UTC day. Left out: no quota. */
  readonly quota?: number;
}

const secondsPerMinute = 60;

/**
 * The usage plan behind a plan: the backstop that turns abuse away for nothing, and never the limit itself, since
 * API Gateway throttles on a best-effort basis and tells the client nothing
 * (https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-request-throttling.html). So it must
 * admit whatever the service's own fixed windows admit:
 *
 * - **Bucket.** An interval of t seconds touches at most t/60 + 2 windows of a minute, so windows of N admit at most
 *   N × t/60 + 2N requests in it: exactly what a bucket of 2N tokens that gains N/60 a second lets through.
 * - **Quota.** The gateway also counts the requests that the service rejects, while the interface promises that a
 *   rejected request uses up nothing. With the day's limit itself as the quota, a client that met a few 429s early in
 *   the day would be turned away before its day is used up. With twice the day, that takes more rejections than
 *   admissions: a client that ignores `Retry-After` all day long.
 *
 * The limits of the custom plan stand on each key, so its bucket is that of the largest key there can be, and it has
 * no quota.
 */
export function usagePlanSettings(plan: Plan): UsagePlanSettings {
  const limits = limitsOf(plan);
  const { perMinute } = limits ?? customPlanCeiling;
  return {
    rateLimit: perMinute / secondsPerMinute,
    burstLimit: 2 * perMinute,
    ...(limits && { quota: 2 * limits.perDay }),
  };
}

/** One usage plan for each plan, bound to the API's stage. Keys are added to them when they are issued. */
export class UsagePlans extends Construct {
  readonly plans: ReadonlyMap<Plan, UsagePlan>;

  constructor(scope: Construct, id: string, api: RestApi) {
    super(scope, id);
    this.plans = new Map(planNames.map((plan) => [plan, this.#usagePlan(plan, api)]));
  }

  #usagePlan(plan: Plan, api: RestApi): UsagePlan {
    const { rateLimit, burstLimit, quota } = usagePlanSettings(plan);
    return new UsagePlan(this, titleCase(plan), {
      name: `${Stack.of(this).stackName}-${plan}`,
      // A cast, because CDK's classes and interfaces differ under exactOptionalPropertyTypes.
      apiStages: [{ api: api as IRestApi, stage: api.deploymentStage }],
      throttle: { rateLimit, burstLimit },
      ...(quota !== undefined && { quota: { limit: quota, period: Period.DAY } }),
    });
  }
}
