import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { fixedPlans, planNames } from '../../functions/access/plans.ts';
import { usagePlanSettings } from '../../lib/api/usage-plans.ts';
import { presets } from '../../lib/configuration/stages.ts';
import { contexts, idOf, ref, resourcesOf, synthesize, theResource } from './synthesis.ts';

const stack = synthesize().stack('AnimalStore-prod');
const [apiId] = theResource(stack, 'AWS::ApiGateway::RestApi');
const [stageId] = theResource(stack, 'AWS::ApiGateway::Stage');

const usagePlan = z.object({
  UsagePlanName: z.string(),
  Description: z.string(),
  ApiStages: z.array(z.object({ ApiId: z.unknown(), Stage: z.unknown(), Throttle: z.strictObject({}) })),
  Throttle: z.strictObject({ RateLimit: z.number(), BurstLimit: z.int() }),
  Quota: z.strictObject({ Limit: z.int(), Period: z.literal('DAY') }).optional(),
});

describe.each(planNames)('the usage plan of %s', (plan) => {
  const titleCase = plan.charAt(0).toUpperCase() + plan.slice(1);
  const id = idOf(stack.Outputs[`UsagePlanId${titleCase}`]?.Value);
  const deployed = usagePlan.parse(stack.Resources[id]?.Properties);

  it('is bound to the stage of the API, without throttles per method', () => {
    expect(deployed.ApiStages).toEqual([{ ApiId: ref(apiId), Stage: ref(stageId), Throttle: {} }]);
    expect(deployed.UsagePlanName).toBe(`AnimalStore-prod-${plan}`);
  });

  // The numbers themselves: test/unit/usage-plan-proof.test.ts.
  it('has the rate, burst and quota of the plan table', () => {
    const { rateLimit, burstLimit } = usagePlanSettings(plan, presets.prod.accountThrottle);
    expect(deployed.Throttle).toEqual({ RateLimit: rateLimit, BurstLimit: burstLimit });
    expect(deployed.Quota?.Limit).toBe(plan === 'enterprise' ? undefined : fixedPlans[plan].perDay * 2);
  });

  it('describes the limits of its plan and why its own numbers are larger', () => {
    const limits = plan === 'enterprise' ? undefined : fixedPlans[plan];
    expect(deployed.Description).toContain(`Limits of plan ${plan}:`);
    expect(deployed.Description).toContain(
      limits === undefined
        ? 'set on each key'
        : `${limits.perMinute.toLocaleString('en-US')} requests a minute, ${limits.perDay.toLocaleString('en-US')} a day`,
    );
    expect(deployed.Description).toContain('numbers of this usage plan are larger, because');
  });
});

describe('the throttles of usage plans', () => {
  it.each([
    ['by default', stack, { requestsPerSecond: 10_000, burst: 5_000 }],
    [
      'in a Region with lower quotas',
      synthesize('copy').stack('Shelter-staging'),
      contexts.copy.stages.staging.accountThrottle,
    ],
    [
      'in an account with very low quotas',
      synthesize('copy').stack('Shelter-prod'),
      contexts.copy.stages.prod.accountThrottle,
    ],
  ])('never exceed the throttle of the account: %s', (_, template, account) => {
    const plans = resourcesOf(template, 'AWS::ApiGateway::UsagePlan');
    expect(plans).toHaveLength(planNames.length);
    for (const [, { Properties }] of plans) {
      const { RateLimit, BurstLimit } = usagePlan.parse(Properties).Throttle;
      expect(RateLimit).toBeLessThanOrEqual(account.requestsPerSecond);
      expect(BurstLimit).toBeLessThanOrEqual(account.burst);
    }
  });
});

describe('usage plans', () => {
  it('are created and updated one after the other', () => {
    const plans = resourcesOf(stack, 'AWS::ApiGateway::UsagePlan');
    const ids = plans.map(([id]) => id);
    for (const [index, [, { DependsOn }]] of plans.entries()) {
      expect(DependsOn.filter((id) => ids.includes(id))).toEqual(index === 0 ? [] : [ids[index - 1]]);
    }
  });
});
