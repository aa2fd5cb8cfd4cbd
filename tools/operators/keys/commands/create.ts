import { Option } from '@commander-js/extra-typings';
import { hashOfKey, newKey } from '../../../../functions/access/keys.ts';
import { untilCurrent } from '../../command-line/change.ts';
import { ToolError } from '../../command-line/errors.ts';
import { grouped, type Output } from '../../command-line/output.ts';
import { line, stageCommand } from '../../command-line/stage-command.ts';
import { deleteFormerGatewayKey, flushAuthorizer, withGatewayKey } from '../gateway.ts';
import { checkLimits, type Open, perDayOption, perMinuteOption, planOption } from '../key-command.ts';
import { newKeyId } from '../key-ids.ts';
import { untilTime } from '../key-usage.ts';
import {
  type AdministeredKey,
  type Change,
  describePlan,
  limitsInForce,
  type PlanLimits,
  readKey,
  write,
} from '../records.ts';
import type { KeyService } from '../service.ts';

export const create = (open: Open) =>
  stageCommand(
    'create',
    'issue an API key and show it once',
    '--stage local --owner "Ada Lovelace" --plan enterprise --per-minute 6000 --per-day 1000000',
    'On AWS, API Gateway can need minutes until it accepts a new key. Until then requests can get 401.',
  )
    .addOption(
      new Option('--owner <name>', 'who uses the key (required)').argParser(line(100)).makeOptionMandatory(),
    )
    .addOption(planOption)
    .addOption(perMinuteOption)
    .addOption(perDayOption)
    .option('--note <text>', 'what the key is for', line(200))
    .action(async ({ owner, plan, perMinute, perDay, note, ...options }) => {
      const request = { owner, plan, perMinute, perDay, note };
      checkLimits(request);
      const { service, output } = await open(options);
      const issued = await untilCurrent(() => createKey(service, request));
      await reveal(service, output, issued);
      output.note('The key is valid. API Gateway can need minutes until it accepts it everywhere.');
    });

/** A request for a new key. */
export interface KeyRequest extends PlanLimits {
  readonly owner: string;
  readonly note?: string | undefined;
}

/** What the owner of a new key needs to know. */
type NewKey = Awaited<ReturnType<typeof createKey>>;

/** A key that a new one replaces, and when it ends (Unix seconds). */
interface Replacement {
  readonly old: AdministeredKey;
  readonly expiresAt: number;
}

/**
 * Issues a key: API Gateway key, usage plan, then the one write that makes it valid, which also ends the key that it replaces.
 *
 * @throws StaleRecordError, OutcomeUnknownError, ToolError
 */
export async function createKey(service: KeyService, request: KeyRequest, replacement?: Replacement) {
  const { stage } = service;
  const { owner, plan } = request;
  const key = newKey(stage);
  const keyHash = hashOfKey(key);
  const keyId = newKeyId(service.clock());
  await withGatewayKey(service, { keyHash, keyId, owner, plan }, keyHash, async (gatewayKeyId) => {
    const replaces = replacement?.old.keyId;
    const detail = describePlan(request) + (replaces === undefined ? '' : `, in place of ${replaces}`);
    const created: Change = {
      key: { keyHash, keyId, audit: [] },
      did: 'created',
      detail,
      set: { ...request, status: 'active', createdAt: service.now(), gatewayKeyId, replaces },
      ifUnknown: 'If it exists, revoke it, because nobody has seen the key. Then run the same command again.',
    };
    // The first is the one that errors name: the operator knows the ID of the old key only.
    await write(service, ...(replacement ? [replaced(replacement, keyId)] : []), created);
  });
  const limits = limitsInForce(request) ?? { perMinute: null, perDay: null };
  return { keyId, key, stage, owner, plan, ...limits };
}

function replaced({ old, expiresAt }: Replacement, replacedBy: string): Change {
  return {
    key: old,
    did: 'replaced',
    detail: `by ${replacedBy}, valid ${untilTime(expiresAt)}`,
    set: { replacedBy, expiresAt },
    anyLength: true,
    ifUnknown:
      'If it was replaced, rotate the key that replaced it, which nobody has seen. If not, run the same command again.',
  };
}

/**
 * Shows a new key, which is valid, so that no key is shown that never works. If nobody can have read it, takes it back, and a
 * rotation with it.
 */
export async function reveal(
  service: KeyService,
  output: Output,
  issued: NewKey,
  { old, ...rotation }: { readonly old?: AdministeredKey; readonly overlapSeconds?: number } = {},
): Promise<void> {
  try {
    await output.reveal({ ...issued, ...(old && { replaces: old.keyId }), ...rotation }, issuedText(issued));
  } catch (cause) {
    const { message } = cause as Error;
    await withdraw(service, issued, old).catch(() => {
      const advice = `${issued.keyId} is valid, but nobody has seen the key. Rotate or revoke it.`;
      throw new ToolError('unknown', `${message} ${advice}`, { cause });
    });
    const state = old === undefined ? 'was revoked' : `was revoked, and ${old.keyId} stays as it was`;
    throw new ToolError('failed', `${message} ${issued.keyId} ${state}.`, { cause });
  }
}

/** Revokes a key that nobody has seen. The one that it was to replace becomes as it was. */
async function withdraw(service: KeyService, { key, keyId }: NewKey, old?: AdministeredKey): Promise<void> {
  const issued = await readKey(service, hashOfKey(key));
  const ended = old && (await readKey(service, old.keyHash));
  if (issued === undefined) throw new ToolError('not_found', `${keyId} does not exist.`);
  const detail = 'as it could not be shown';
  const changes: Change[] = [{ key: issued, did: 'revoked', detail, set: { status: 'revoked' } }];
  if (old && ended?.replacedBy === keyId)
    changes.push({
      key: ended,
      did: 'restored',
      detail: `as ${keyId} could not be shown`,
      set: { replacedBy: undefined, expiresAt: old.expiresAt },
      anyLength: true,
    });
  await write(service, ...changes);
  await flushAuthorizer(service);
  await deleteFormerGatewayKey(service, issued);
}

/** The only text that contains a key. */
function issuedText({ keyId, key, plan, perMinute, perDay }: NewKey): string[] {
  const limits =
    perMinute === null || perDay === null
      ? 'limits that this version of the tool does not know'
      : `${grouped(perMinute)} a minute, ${grouped(perDay)} a day`;
  return [`Key ID  ${keyId}`, `Plan    ${plan}: ${limits}`, `Key     ${key}`, 'The key is not shown again.'];
}
