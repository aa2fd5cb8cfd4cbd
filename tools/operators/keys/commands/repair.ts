import {
  ConflictException,
  DeleteUsagePlanKeyCommand,
  NotFoundException,
  paginateGetUsagePlanKeys,
} from '@aws-sdk/client-api-gateway';
import { StaleRecordError } from '../../command-line/change.ts';
import { stageCommand, yesOption } from '../../command-line/stage-command.ts';
import { counted, grouped } from '../../command-line/output.ts';
import { isBusy, mayBeDone } from '../../command-line/retry.ts';
import { noteUnknownOwner, type Open, ownerFilter, planFilter } from '../key-command.ts';
import * as gateway from '../gateway.ts';
import * as records from '../records.ts';
import { findUsagePlan, type KeyService, usagePlanIdOf } from '../service.ts';

/** How API Gateway can differ from a key's record. */
const driftText = {
  'gateway key': 'it has no API Gateway key',
  'usage plan': 'it is not in its usage plan, or in another one',
  record: 'its record names another API Gateway key',
} as const;

export const repair = (open: Open) =>
  stageCommand(
    'repair',
    'give every valid key its API Gateway key and usage plan again, after the API was rebuilt',
    '--stage prod --dry-run',
    'Clients keep their keys. If it stops half way, run it again.',
  )
    .addOption(ownerFilter)
    .addOption(planFilter)
    .option('--dry-run', 'only show the drift', false)
    .addOption(yesOption)
    .action(async (options) => {
      const session = await open(options);
      const { service, output, confirm } = session;
      const { dryRun } = options;
      const { matches, valid, drifted, disabled } = await findDrift(service, options);
      const count = grouped(drifted.length);
      for (const keyId of disabled)
        service.notify(`${keyId} is disabled in API Gateway: its requests get 401. It was left disabled.`);
      if (!dryRun && drifted[0]) await confirm(`Repair ${count} of ${counted(valid, 'valid key')}?`);
      const repaired = dryRun ? [] : await repairKeys(service, drifted);
      const shown = drifted.map(({ key: { keyId }, drift }) => ({ keyId, drift }));
      const lines = shown.map(({ keyId, drift }) => `${keyId}: ${driftText[drift]}`);
      const done = dryRun ? `To repair: ${count}` : `Repaired: ${grouped(repaired.length)}`;
      const text = [...(dryRun ? lines : []), `Valid keys: ${grouped(valid)}. ${done}.`];
      output.result({ dryRun, valid, drifted: shown, repaired, disabled }, text);
      noteUnknownOwner(session, options.owner, matches);
    });

/** Compares the records of all valid keys with API Gateway. Keys that someone disabled there stay disabled. */
export async function findDrift(service: KeyService, filter: records.KeyFilter) {
  const { matches, valid, gatewayKeys } = await gateway.survey(service, filter);
  const plansOf = await membershipsOf(service);
  const byValue = new Map(
    gatewayKeys.map(({ id = '', value, enabled }) => [
      value,
      { id, enabled, usagePlanIds: plansOf.get(id) ?? [] },
    ]),
  );
  const deployed = [...valid].filter(([, { keyId, plan }]) => {
    const isDeployed = findUsagePlan(service, plan) !== undefined;
    if (!isDeployed)
      service.notify(`${keyId} was left as it is, because its plan ${plan} is not deployed in this stage.`);
    return isDeployed;
  });
  const pairs = deployed.map(([value, key]) => ({ key, found: byValue.get(value) }));
  const drifted = pairs.flatMap(({ key, found }) => {
    const isInPlan = found?.usagePlanIds.join() === findUsagePlan(service, key.plan);
    if (isInPlan && found?.id === key.gatewayKeyId) return [];
    const drift: keyof typeof driftText = !found ? 'gateway key' : isInPlan ? 'record' : 'usage plan';
    return [{ key, found, drift }];
  });
  const disabled = pairs.filter(({ found }) => found?.enabled === false).map(({ key }) => key.keyId);
  return { matches, valid: valid.size, drifted, disabled };
}

/** The usage plans of this service that API Gateway keys are in, by the ID of the key. */
async function membershipsOf({ apiGateway: client, usagePlanIds }: KeyService) {
  const plansOf = new Map<string, string[]>();
  for (const usagePlanId of usagePlanIds.values())
    for await (const { items = [] } of paginateGetUsagePlanKeys({ client, pageSize: 500 }, { usagePlanId }))
      for (const { id = '' } of items) plansOf.set(id, [...(plansOf.get(id) ?? []), usagePlanId]);
  return plansOf;
}

type DriftedKey = Awaited<ReturnType<typeof findDrift>>['drifted'][number];

/** @returns the IDs of the keys that were repaired */
export async function repairKeys(service: KeyService, drifted: readonly DriftedKey[]): Promise<string[]> {
  const repaired: string[] = [];
  for (const each of drifted) if (await repairKey(service, each)) repaired.push(each.key.keyId);
  return repaired;
}

/** Returns false for a key that another run or command has changed since the survey, or changes now. */
async function repairKey(service: KeyService, { key: seen, found, drift }: DriftedKey): Promise<boolean> {
  const key = await records.readKey(service, seen.keyHash);
  if (key?.audit.length !== seen.audit.length) return false;
  const change = { key, did: 'repaired', detail: `because ${driftText[drift]}`, anyLength: true };
  const commit = (gatewayKeyId: string) => records.write(service, { ...change, set: { gatewayKeyId } });
  try {
    if (found === undefined) {
      await gateway.withGatewayKey(service, key, records.gatewayValueOf(key), commit);
      return true;
    }
    const { id: keyId, usagePlanIds } = found;
    const target = usagePlanIdOf(service, key.plan);
    await commit(keyId);
    for (const usagePlanId of usagePlanIds.filter((id) => id !== target))
      await gateway.ignoreNotFound(
        service.apiGateway.send(new DeleteUsagePlanKeyCommand({ usagePlanId, keyId })),
      );
    if (!usagePlanIds.includes(target)) await gateway.addToPlan(service, keyId, target);
    return true;
  } catch (error) {
    const isExisting = error instanceof ConflictException && !isBusy(error) && !mayBeDone(error);
    if (isExisting || error instanceof StaleRecordError || error instanceof NotFoundException) return false;
    throw error;
  }
}
