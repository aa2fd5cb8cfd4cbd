import { NotFoundException } from '@aws-sdk/client-api-gateway';
import { Option } from 'commander';
import { z } from 'zod';
import { planNames } from '../../../functions/access/plans.ts';
import { stageCommand } from '../command.ts';
import { grouped } from '../format.ts';
import { addToPlan, gatewayKeys, removeFromPlan, usagePlanMembers, withGatewayKey } from '../gateway.ts';
import { ownerFilter, planOption } from '../options.ts';
import {
  type AdministeredKey,
  changeKey,
  gatewayValueOf,
  isValid,
  partitionsOf,
  readKey,
  recordsOf,
  StaleRecordError,
} from '../records.ts';
import { type KeyService, newLine, nowOf, reportLine } from '../service.ts';

/** How API Gateway can differ from a key's record. */
const driftText = {
  'gateway key': 'it has no API Gateway key',
  'usage plan': 'it is not in its usage plan, or in another one',
  record: 'its record names another API Gateway key',
} as const;
type Drift = keyof typeof driftText;

/** What API Gateway has for a key's value. */
interface GatewayState {
  readonly id: string;
  readonly usagePlanIds: readonly string[];
}

interface DriftedKey {
  readonly key: AdministeredKey;
  readonly state: GatewayState | undefined;
  readonly drift: Drift;
}

export interface Survey {
  /** Valid keys that were compared. */
  readonly valid: number;
  readonly drifted: readonly DriftedKey[];
  /** IDs of valid keys that someone disabled in API Gateway. They get 401, and stay disabled. */
  readonly disabled: readonly string[];
}

const filterSchema = z.object({ owner: z.string().optional(), plan: z.enum(planNames).optional() });
type Filter = z.infer<typeof filterSchema>;

export const repair = stageCommand({
  name: 'repair',
  summary: 'give every valid key its API Gateway key and usage plan again, after the API was rebuilt',
  details: 'Clients keep their keys. If it stops half way, run it again.',
  example: '--stage prod --dry-run',
  options: [
    ownerFilter(),
    planOption('only keys on this plan'),
    new Option('--dry-run', 'only show the drift').default(false),
  ],
  schema: filterSchema.extend({ dryRun: z.boolean() }),
  asks: true,
  run: async ({ service, output, confirm, stage }, { dryRun, ...filter }) => {
    const { valid, drifted, disabled } = await surveyKeys(service, filter, (message) =>
      output.note(message, 'yellow'),
    );
    for (const keyId of disabled)
      output.note(
        `${keyId} is disabled in API Gateway: its requests get 401. It was left disabled.`,
        'yellow',
      );
    const repaired: string[] = [];
    if (!dryRun && drifted.length > 0) {
      await confirm(`Repair ${grouped(drifted.length)} of ${grouped(valid)} valid keys in ${stage}?`);
      for (const each of drifted) if (await repairKey(service, each)) repaired.push(each.key.keyId);
    }
    const count = `${grouped(valid)} valid ${valid === 1 ? 'key' : 'keys'}`;
    const lines = drifted.map(({ key, drift }) => `${key.keyId}: ${driftText[drift]}`);
    output.result(
      {
        dryRun,
        valid,
        drifted: drifted.map(({ key: { keyId }, drift }) => ({ keyId, drift })),
        repaired,
        disabled,
      },
      drifted.length === 0
        ? `API Gateway has everything that ${count} need${valid === 1 ? 's' : ''}.`
        : dryRun
          ? [...lines, `${grouped(drifted.length)} of ${count} would be repaired.`].join('\n')
          : `${grouped(repaired.length)} of ${count} repaired.`,
    );
  },
});

/** Compares the records of all valid keys with API Gateway, in pages. Changes nothing. */
export async function surveyKeys(
  service: KeyService,
  filter: Filter,
  onMalformed: (message: string) => void = () => {},
): Promise<Survey> {
  const keys = new Map<string, AdministeredKey>();
  const malformed = new Set<string>();
  const records = recordsOf(
    service.keyTable,
    partitionsOf(filter),
    ({ message }) => void malformed.add(message),
  );
  for await (const key of records) {
    const isWanted = filter.plan === undefined || key.plan === filter.plan;
    if (isWanted && isValid(key, nowOf(service))) keys.set(gatewayValueOf(key), key);
  }
  malformed.forEach(onMalformed);
  // After the records: the API Gateway key of a valid key existed before its record.
  const members = await usagePlanMembers(service);
  const states = new Map<string, GatewayState>();
  const disabled: string[] = [];
  for await (const { id = '', value = '', enabled } of gatewayKeys(service)) {
    const key = keys.get(value);
    if (key === undefined) continue;
    states.set(value, { id, usagePlanIds: members.get(id) ?? [] });
    if (enabled === false) disabled.push(key.keyId);
  }
  const drifted = [...keys].flatMap(([value, key]) => {
    const state = states.get(value);
    const drift = driftOf(service, key, state);
    return drift === undefined ? [] : [{ key, state, drift }];
  });
  return { valid: keys.size, drifted, disabled };
}

function driftOf(
  service: KeyService,
  { plan, gatewayKeyId }: AdministeredKey,
  state: GatewayState | undefined,
): Drift | undefined {
  if (state === undefined) return 'gateway key';
  const [inPlan, ...more] = state.usagePlanIds;
  if (inPlan !== service.usagePlanIds[plan] || more.length > 0) return 'usage plan';
  return state.id === gatewayKeyId ? undefined : 'record';
}

/** Returns false for a key that was changed since the survey. */
async function repairKey(service: KeyService, { key: seen, state, drift }: DriftedKey): Promise<boolean> {
  const key = await readKey(service.keyTable, seen.keyHash);
  if (key === undefined || key.audit.length !== seen.audit.length) return false;
  const { keyHash, keyId, owner, plan } = key;
  const line = await newLine(service, 'repaired', driftText[drift]);
  const write = async (gatewayKeyId: string) => {
    await changeKey(service.keyTable, key, { set: { gatewayKeyId }, line, anyLength: true });
    reportLine(service, key, line);
  };
  try {
    if (state === undefined) {
      await withGatewayKey(service, { keyHash, keyId, owner, plan, value: gatewayValueOf(key) }, write);
      return true;
    }
    await write(state.id);
    await service.afterStep('record');
    const target = service.usagePlanIds[plan];
    for (const usagePlanId of state.usagePlanIds.filter((id) => id !== target)) {
      await removeFromPlan(service, state.id, usagePlanId);
      await service.afterStep('old usage plan');
    }
    if (!state.usagePlanIds.includes(target)) {
      await addToPlan(service, state.id, plan);
      await service.afterStep('usage plan');
    }
    return true;
  } catch (error) {
    // Another command changes the key, or another run repairs it.
    if (error instanceof StaleRecordError || error instanceof NotFoundException) return false;
    throw error;
  }
}
