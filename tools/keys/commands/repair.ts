import { ConflictException, NotFoundException } from '@aws-sdk/client-api-gateway';
import { type Open, stageCommand } from '../command.ts';
import { grouped } from '../format.ts';
import { addToPlan, gatewayKeys, removeFromPlan, usagePlanMembers, withGatewayKey } from '../gateway.ts';
import { ownerFilter, planOption, yesOption } from '../options.ts';
import {
  type AdministeredKey,
  allKeys,
  gatewayValueOf,
  isValid,
  type KeyFilter,
  readKey,
  StaleRecordError,
  write,
} from '../records.ts';
import { isBusy } from '../retry.ts';
import { type KeyService, nowOf } from '../service.ts';

/** How API Gateway can differ from a key's record. */
const driftText = {
  'gateway key': 'it has no API Gateway key',
  'usage plan': 'it is not in its usage plan, or in another one',
  record: 'its record names another API Gateway key',
} as const;

interface DriftedKey {
  readonly key: AdministeredKey;
  readonly drift: keyof typeof driftText;
  /** API Gateway's ID of the key with the right value, if there is one. */
  readonly gatewayKeyId: string | undefined;
  readonly usagePlanIds: readonly string[];
}

export const repair = (open: Open) =>
  stageCommand(
    'repair',
    'give every valid key its API Gateway key and usage plan again, after the API was rebuilt',
    '--stage prod --dry-run',
    'Clients keep their keys. If it stops half way, run it again.',
  )
    .addOption(ownerFilter())
    .addOption(planOption('only keys on this plan'))
    .option('--dry-run', 'only show the drift', false)
    .addOption(yesOption())
    .action((options) =>
      open(options, async ({ service, output, confirm }) => {
        const { owner, plan, dryRun } = options;
        const { valid, drifted, disabled } = await surveyKeys(service, { owner, plan });
        for (const keyId of disabled)
          service.notify(`${keyId} is disabled in API Gateway: its requests get 401. It was left disabled.`);
        const repaired: string[] = [];
        if (!dryRun && drifted.length > 0) {
          await confirm(
            `Repair ${grouped(drifted.length)} of ${grouped(valid)} valid keys in ${options.stage}?`,
          );
          for (const each of drifted) if (await repairKey(service, each)) repaired.push(each.key.keyId);
        }
        const lines = drifted.map(({ key, drift }) => `${key.keyId}: ${driftText[drift]}\n`).join('');
        const count = grouped((dryRun ? drifted : repaired).length);
        output.result(
          {
            dryRun,
            valid,
            drifted: drifted.map(({ key: { keyId }, drift }) => ({ keyId, drift })),
            repaired,
            disabled,
          },
          `${dryRun ? lines : ''}Valid keys: ${grouped(valid)}. ${dryRun ? 'To repair' : 'Repaired'}: ${count}.`,
        );
      }),
    );

/**
 * Compares the records of all valid keys with API Gateway, in pages. Changes nothing. Keys that someone disabled in
 * API Gateway get 401, and stay disabled.
 */
export async function surveyKeys(service: KeyService, filter: KeyFilter) {
  const keys = new Map<string, AdministeredKey>();
  for await (const key of allKeys(service, filter))
    if (isValid(key, nowOf(service))) keys.set(gatewayValueOf(key), key);
  // After the records: the API Gateway key of a valid key existed before its record.
  const members = await usagePlanMembers(service);
  const ids = new Map<string, string>();
  const disabled: string[] = [];
  for await (const { id = '', value = '', enabled } of gatewayKeys(service)) {
    const key = keys.get(value);
    if (key !== undefined) ids.set(value, id);
    if (key !== undefined && enabled === false) disabled.push(key.keyId);
  }
  const drifted = [...keys].flatMap(([value, key]): DriftedKey[] => {
    const gatewayKeyId = ids.get(value);
    const usagePlanIds = members.get(gatewayKeyId ?? '') ?? [];
    const isInPlan = usagePlanIds.join() === service.usagePlanIds[key.plan];
    if (isInPlan && gatewayKeyId === key.gatewayKeyId) return [];
    const drift = gatewayKeyId === undefined ? 'gateway key' : isInPlan ? 'record' : 'usage plan';
    return [{ key, drift, gatewayKeyId, usagePlanIds }];
  });
  return { valid: keys.size, drifted, disabled };
}

/** Returns false for a key that another run or command has changed since the survey, or changes now. */
async function repairKey(
  service: KeyService,
  { key: seen, drift, gatewayKeyId: found, usagePlanIds }: DriftedKey,
): Promise<boolean> {
  const key = await readKey(service, seen.keyHash);
  if (key === undefined || key.audit.length !== seen.audit.length) return false;
  const commit = (gatewayKeyId: string) =>
    write(service, {
      key,
      did: 'repaired',
      detail: driftText[drift],
      set: { gatewayKeyId },
      anyLength: true,
    });
  try {
    if (found === undefined) {
      await withGatewayKey(service, key, gatewayValueOf(key), commit);
      return true;
    }
    await commit(found);
    const target = service.usagePlanIds[key.plan];
    for (const other of usagePlanIds.filter((id) => id !== target))
      await removeFromPlan(service, found, other);
    if (!usagePlanIds.includes(target)) await addToPlan(service, found, key.plan);
    return true;
  } catch (error) {
    const isExisting = error instanceof ConflictException && !isBusy(error);
    if (isExisting || error instanceof StaleRecordError || error instanceof NotFoundException) return false;
    throw error;
  }
}
