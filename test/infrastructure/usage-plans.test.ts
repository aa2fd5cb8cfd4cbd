import { assert, constant, integer, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  customPlanCeiling,
  fixedPlans,
  limitsOf,
  type Plan,
  planNames,
} from '../../functions/access/plans.ts';
import { usagePlanSettings } from '../../lib/api/usage-plans.ts';
import { idOf, ref, synthesize, theResource } from './synthesis.ts';

const stack = synthesize({ stage: 'prod' }).stack('AnimalStore-prod');
const [apiId] = theResource(stack, 'AWS::ApiGateway::RestApi');
const [stageId] = theResource(stack, 'AWS::ApiGateway::Stage');

const usagePlan = z.object({
  UsagePlanName: z.string(),
  ApiStages: z.array(z.object({ ApiId: z.unknown(), Stage: z.unknown(), Throttle: z.strictObject({}) })),
  Throttle: z.strictObject({ RateLimit: z.number(), BurstLimit: z.int() }),
  Quota: z.strictObject({ Limit: z.int(), Period: z.literal('DAY') }).optional(),
});

describe.each(planNames)('the usage plan of %s', (plan) => {
  const titleCase = plan.charAt(0).toUpperCase() + plan.slice(1);
  const id = idOf(stack.Outputs[`UsagePlanId${titleCase}`]?.Value);
  const deployed = usagePlan.parse(stack.Resources[id]?.Properties);

  it('is bound to the stage of the API, and to no method alone', () => {
    expect(deployed.ApiStages).toEqual([{ ApiId: ref(apiId), Stage: ref(stageId), Throttle: {} }]);
    expect(deployed.UsagePlanName).toBe(`AnimalStore-prod-${plan}`);
  });

  it('has the bucket and the quota that follow from the plan table', () => {
    const { perMinute } = limitsOf(plan) ?? customPlanCeiling;
    expect(deployed.Throttle).toEqual({ RateLimit: perMinute / 60, BurstLimit: perMinute * 2 });
    expect(deployed.Quota?.Limit).toBe(plan === 'enterprise' ? undefined : fixedPlans[plan].perDay * 2);
  });
});

describe('a usage plan', () => {
  it.each(Object.keys(fixedPlans) as Plan[])(
    'never meets a client of %s whose rejections do not outnumber its admissions',
    (plan) => {
      const { perDay } = limitsOf(plan)!;
      const day = integer({ min: 0, max: perDay }).chain((admitted) =>
        record({ admitted: constant(admitted), rejected: integer({ min: 0, max: admitted }) }),
      );
      assert(
        property(day, ({ admitted, rejected }) => {
          expect(admitted + rejected).toBeLessThanOrEqual(usagePlanSettings(plan).quota!);
        }),
      );
    },
  );

  it('is for the largest key where limits stand on the key', () => {
    const { rateLimit, burstLimit, quota } = usagePlanSettings('enterprise');
    expect({ rateLimit, burstLimit, quota }).toEqual({
      rateLimit: customPlanCeiling.perMinute / 60,
      burstLimit: customPlanCeiling.perMinute * 2,
      quota: undefined,
    });
  });
});
