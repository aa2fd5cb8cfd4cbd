import { toleratedRate } from '../../functions/access/limiter-decisions.ts';
import { customPlanCeiling, limitsOf, type Plan } from '../../functions/access/plans.ts';
import type { Throttle } from '../configuration/settings.ts';

/**
 * The rate, burst and daily quota of a usage plan. It is a backstop that rejects abuse at low cost, not the limit itself:
 * API Gateway throttles on a best-effort basis
 * (https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-request-throttling.html). For a plan of N
 * requests a minute:
 *
 * - **Burst 2N.** t seconds touch at most t/60 + 2 windows, so fixed windows of N admit at most N × t/60 + 2N requests
 *   in t seconds. A bucket of 2N tokens that gains at least N/60 a second admits them all.
 * - **Rate: a fifth more than T,** the requests a minute with which a key may go on after a 429 (`toleratedRate`). A flood that
 *   starts at any second fills one whole minute within two minutes. In that minute the bucket passes N requests that the limiter
 *   admits, 10 seconds of rejections that do not count, and then enough to suspend the key. Where T is less than N + 0.6 T, as
 *   with the largest keys, that is the rate.
 * - **Quota 2 × the day.** API Gateway also counts the requests that the limiter rejects, which must not count. A client
 *   reaches twice the limit only if it is rejected more often than admitted.
 * - **Clamps.** Neither rate nor burst may exceed the account's. A burst clamped to B admits whatever windows of at most
 *   B/2 a minute admit (2,500 for B = 5,000). A key with a higher limit must be paced: any t seconds may hold
 *   B + t × rate requests.
 *
 * The custom plan's limits are on each key, so its usage plan is that of the largest possible key, without a quota. A usage
 * plan for each size would only lower the cost of a flood, and a key's API Gateway key would change with its limits.
 */
export function usagePlanSettings(plan: Plan, account: Throttle) {
  const limits = limitsOf(plan);
  const { perMinute } = limits ?? customPlanCeiling;
  const tolerated = toleratedRate(limits ?? customPlanCeiling);
  const passed = Math.max(tolerated, perMinute + 0.6 * tolerated);
  return {
    rateLimit: Math.min((1.2 * passed) / 60, account.requestsPerSecond),
    burstLimit: Math.min(2 * perMinute, account.burst),
    ...(limits && { quota: 2 * limits.perDay }),
  };
}
