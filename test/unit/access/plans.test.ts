import { expect, test } from 'vitest';
import {
  customPlan,
  customPlanCeiling,
  fixedPlans,
  limitsOf,
  planNames,
} from '../../../functions/access/plans.ts';

test('the plans have the limits of docs/interface.md', () => {
  expect(planNames).toEqual(['free', 'pro', 'business', 'enterprise']);
  expect(planNames.map((plan) => limitsOf(plan))).toEqual([
    { perMinute: 60, perDay: 1_000 },
    { perMinute: 300, perDay: 10_000 },
    { perMinute: 1_000, perDay: 100_000 },
    undefined,
  ]);
});

test('every plan but the custom one has limits of its own', () => {
  expect([...Object.keys(fixedPlans), customPlan]).toEqual(planNames);
});

test('no key can be given more than one DynamoDB item can count: 1,000 writes a second', () => {
  expect(customPlanCeiling).toEqual({ perMinute: 60_000, perDay: 86_400_000 });
});
