import { type Limits, limitsOf, type Plan } from '../../../functions/access/plans.ts';
import { keyCommand, nameOf, onKey, type Open } from '../command.ts';
import { deleteGatewayKey, flushAuthorizer, newGatewayValue, withGatewayKey } from '../gateway.ts';
import { describePlan } from '../issue.ts';
import { checkLimits, perDayOption, perMinuteOption, planOption, yesOption } from '../options.ts';
import { type AdministeredKey, type Change, ownLimits, write } from '../records.ts';
import type { KeyService } from '../service.ts';

export const changePlan = (open: Open) =>
  keyCommand(
    'change-plan',
    'put a key on another plan, or change the limits of an enterprise key',
    '--plan business',
    'The key stays usable. On AWS a change of plan takes about a minute, and needs one free place among the 10,000 API keys of the account and Region.',
  )
    .addOption(planOption('the new plan (required)').makeOptionMandatory())
    .addOption(perMinuteOption())
    .addOption(perDayOption())
    .addOption(yesOption())
    .action((id, options) => {
      const { plan } = options;
      const limits = checkLimits(plan, options);
      const run = onKey(
        open,
        async ({ service, output, confirm }, key) => {
          const { keyId } = key;
          await confirm(`Change ${nameOf(key, service)} to ${describePlan(plan, limits)}?`);
          const changed = await changeKeyPlan(service, key, plan, limits);
          output.result(
            { keyId, changed, plan, ...(limitsOf(plan) ?? limits) },
            changed ? `${keyId} is on the ${plan} plan.` : `${keyId} has this plan and these limits already.`,
          );
        },
        'put on another plan',
      );
      return run(id, options);
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
  const [before, after] = [describePlan(key.plan, ownLimits(key)), describePlan(plan, limits)];
  if (before === after) return false;
  const commit = (set: Change['set'] = {}) =>
    write(service, {
      key,
      did: 'changed plan',
      detail: `${before} → ${after}`,
      set: { ...set, plan, perMinute: limits?.perMinute, perDay: limits?.perDay },
    });
  if (key.plan === plan) {
    await commit();
    await flushAuthorizer(service);
    return true;
  }
  const gatewayKeyValue = newGatewayValue();
  await withGatewayKey(service, { ...key, plan }, gatewayKeyValue, async (gatewayKeyId) => {
    await service.propagate();
    await commit({ gatewayKeyId, gatewayKeyValue });
  });
  await flushAuthorizer(service);
  await service.propagate();
  await deleteGatewayKey(service, key.gatewayKeyId);
  return true;
}
