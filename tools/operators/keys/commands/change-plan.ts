import { randomBytes } from 'node:crypto';
import { untilCurrent } from '../../command-line/change.ts';
import { yesOption } from '../../command-line/stage-command.ts';
import {
  checkLimits,
  expectValid,
  keyCommand,
  lookUp,
  nameOf,
  type Open,
  perDayOption,
  perMinuteOption,
  planOption,
} from '../key-command.ts';
import { deleteFormerGatewayKey, flushAuthorizer, withGatewayKey } from '../gateway.ts';
import { readUsage, rejectionText } from '../key-usage.ts';
import {
  type AdministeredKey,
  type Change,
  describePlan,
  limitsInForce,
  type PlanLimits,
  write,
} from '../records.ts';
import { type KeyService, usagePlanIdOf } from '../service.ts';

export const changePlan = (open: Open) =>
  keyCommand(
    'change-plan',
    'put a key on another plan, or change the limits of an enterprise key',
    '--plan business',
    'The key stays usable. On AWS a change of plan takes about a minute, and needs one free place among the 10,000 API keys of the account and Region.',
  )
    .addOption(planOption)
    .addOption(perMinuteOption)
    .addOption(perDayOption)
    .addOption(yesOption)
    .action(async (keyId, { plan, perMinute, perDay, ...options }) => {
      const wanted = { plan, perMinute, perDay };
      checkLimits(wanted);
      const { service, output, confirm } = await open(options);
      await untilCurrent(async () => {
        const key = await lookUp(service, keyId);
        expectValid(key, service.now(), 'put on another plan');
        if (key.plan !== plan) usagePlanIdOf(service, plan);
        // This is read before the change, because a failed read must not look like a failed change.
        const usage = await readUsage(service.limitTable, key.keyHash);
        await confirm(`Change ${nameOf(key)} to ${describePlan(wanted)}?`);
        const changed = describePlan(key) !== describePlan(wanted);
        if (changed) await changeKeyPlan(service, key, wanted);
        const limits = limitsInForce(wanted);
        const state = changed ? `is on the ${plan} plan` : 'has this plan and these limits already';
        const text = `${keyId} ${state}.${rejectionText(usage, limits, service.now())}`;
        output.result({ keyId, changed, plan, ...limits }, text);
      });
    });

/**
 * An API Gateway key can be in one usage plan per stage only, and without one its requests get 401. So a change of plan
 * makes a second API Gateway key with a value of its own in the new plan, switches the record over, and deletes the
 * first: there is no moment without a usage plan.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-api-usage-plans.html
 */
async function changeKeyPlan(service: KeyService, key: AdministeredKey, wanted: PlanLimits): Promise<void> {
  const detail = `${describePlan(key)} → ${describePlan(wanted)}`;
  const commit = (set: Change['set'] = {}) =>
    write(service, { key, did: 'changed plan', detail, set: { ...set, ...wanted } });
  if (key.plan === wanted.plan) {
    await commit();
    await flushAuthorizer(service);
    return;
  }
  const gatewayKeyValue = randomBytes(32).toString('hex');
  await withGatewayKey(service, { ...key, plan: wanted.plan }, gatewayKeyValue, async (gatewayKeyId) => {
    await propagate(service);
    await commit({ gatewayKeyId, gatewayKeyValue });
  });
  await flushAuthorizer(service);
  await propagate(service);
  await deleteFormerGatewayKey(service, key);
}

/** Waits until API Gateway uses a new API Gateway key everywhere. Returns at once for the local service. */
async function propagate({ isLocal, notify, sleep }: KeyService): Promise<void> {
  if (isLocal) return;
  // AWS states no time. Seconds are reported: https://stackoverflow.com/questions/42194561
  notify('Waiting 30 s for API Gateway to apply the change.');
  await sleep(30_000);
}
