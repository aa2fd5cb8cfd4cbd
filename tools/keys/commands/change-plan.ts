import { z } from 'zod';
import { type Limits, limitsOf, type Plan, planNames } from '../../../functions/access/plans.ts';
import { keyCommand } from '../command.ts';
import { deleteGatewayKey, flushAuthorizer, newGatewayValue, withGatewayKey } from '../gateway.ts';
import { describePlan } from '../issue.ts';
import { limitsOptions, planOption } from '../options.ts';
import { type AdministeredKey, type Change, changeKey, ownLimits } from '../records.ts';
import { checkLimits } from '../requests.ts';
import { type KeyService, newLine, reportLine } from '../service.ts';

export const changePlan = keyCommand({
  name: 'change-plan',
  summary: 'put a key on another plan, or change the limits of an enterprise key',
  details:
    'The key stays usable. On AWS a change of plan takes about a minute, and needs one free place among the 10,000 API keys of the account and Region.',
  example: 'key_06fz1m4tqabcdefg --stage prod --plan business',
  options: [planOption('the new plan'), ...limitsOptions()],
  required: ['--plan'],
  schema: z.object({
    plan: z.enum(planNames),
    perMinute: z.number().optional(),
    perDay: z.number().optional(),
  }),
  check: ({ plan, ...limits }) => void checkLimits(plan, limits),
  refusal: 'put on another plan',
  question: ({ keyId, owner, plan }, stage, options) =>
    `Change ${keyId} (${owner}) in ${stage} from the ${plan} plan to ${options.plan}?`,
  run: async ({ service, output }, key, { plan, ...given }) => {
    const { keyId } = key;
    const limits = checkLimits(plan, given);
    const changed = await changeKeyPlan(service, key, plan, limits);
    output.result(
      { keyId, changed, plan, ...(limitsOf(plan) ?? limits) },
      changed ? `${keyId} is on the ${plan} plan.` : `${keyId} has this plan and these limits already.`,
    );
  },
});

/**
 * An API Gateway key can be in one usage plan per stage only
 * (https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-api-usage-plans.html), and without one
 * its requests get 401. So a change of plan makes a second API Gateway key with a value of its own in the new plan,
 * switches the record over, and deletes the first: there is no moment without a usage plan.
 *
 * @returns false when there is nothing to change
 */
async function changeKeyPlan(
  service: KeyService,
  key: AdministeredKey,
  plan: Plan,
  limits: Limits | undefined,
): Promise<boolean> {
  const { keyHash, keyId, owner } = key;
  const before = ownLimits(key);
  const isSamePlan = key.plan === plan;
  if (isSamePlan && before?.perMinute === limits?.perMinute && before?.perDay === limits?.perDay)
    return false;
  const line = await newLine(
    service,
    'changed plan',
    `${describePlan(key.plan, before)} → ${describePlan(plan, limits)}`,
  );
  const write = async (set: Change['set']) => {
    const remove = limits === undefined ? ['perMinute', 'perDay'] : [];
    await changeKey(service.keyTable, key, { set: { ...set, plan, ...limits }, remove, line });
    reportLine(service, key, line);
  };
  if (isSamePlan) {
    await write({});
    await service.afterStep('record');
  } else {
    const value = newGatewayValue();
    await withGatewayKey(service, { keyHash, keyId, owner, plan, value }, async (gatewayKeyId) => {
      await service.propagate();
      await write({ gatewayKeyId, gatewayKeyValue: value });
    });
  }
  await flushAuthorizer(service);
  await service.afterStep('authorizer cache');
  if (!isSamePlan && key.gatewayKeyId !== undefined) {
    await service.propagate();
    await deleteGatewayKey(service, key.gatewayKeyId);
    await service.afterStep('old gateway key');
  }
  return true;
}
