import { Option } from '@commander-js/extra-typings';
import { hashOfKey, newKey } from '../../../../functions/access/keys.ts';
import { StaleRecordError } from '../../command-line/change.ts';
import { ToolError } from '../../command-line/errors.ts';
import { grouped } from '../../command-line/output.ts';
import { line, stageCommand, yesOption } from '../../command-line/stage-command.ts';
import { deleteFormerGatewayKey, flushAuthorizer, withGatewayKey } from '../gateway.ts';
import {
  checkLimits,
  duration,
  keyCommand,
  nameOf,
  onValidKey,
  type Open,
  perDayOption,
  perMinuteOption,
  planOption,
} from '../key-command.ts';
import { newKeyId } from '../key-ids.ts';
import { readUsage, rejectionText, untilTime } from '../key-usage.ts';
import { type Change, describePlan, limitsInForce, type PlanLimits, write } from '../records.ts';
import type { KeyService } from '../service.ts';

export const create = (open: Open) =>
  stageCommand(
    'create',
    'issue an API key and show it once',
    '--stage local --owner "Ada Lovelace" --plan enterprise --per-minute 6000 --per-day 1000000',
    'On AWS a new key becomes usable some seconds later. Until then requests can get 401.',
  )
    .addOption(
      new Option('--owner <name>', 'who uses the key (required)').argParser(line(100)).makeOptionMandatory(),
    )
    .addOption(planOption)
    .addOption(perMinuteOption)
    .addOption(perDayOption)
    .option('--note <text>', 'what the key is for', line(200))
    .action((options) => {
      checkLimits(options);
      return open(options, async ({ service, output }) => {
        const { owner, plan, perMinute, perDay, note } = options;
        const request = { owner, plan, perMinute, perDay, note };
        await createKey(service, request, (issued) => output.reveal(issued, issuedText(issued)));
        output.note('The key is valid. API Gateway can need some seconds until it accepts it everywhere.');
      });
    });

export const rotate = (open: Open) =>
  keyCommand(
    'rotate',
    'issue a key in place of another, which stays valid for a while',
    '--overlap 24h',
    'On AWS a new key becomes usable some seconds later: an overlap below 60s can lock its owner out.',
  )
    .addOption(
      new Option('--overlap <duration>', 'how long the old key stays valid: 0s, 15m, 7d')
        .argParser(duration(0))
        .default(86_400, '24h'),
    )
    .addOption(yesOption)
    .action((id, { overlap, ...options }) =>
      onValidKey(open, id, options, 'rotated', async ({ service, output, confirm }, old) => {
        const { keyId, owner, plan, note, perMinute, perDay, replacedBy: successor } = old;
        if (successor !== undefined)
          throw new ToolError('refused', `${keyId} was replaced by ${successor}. Rotate that one.`);
        // Before the change: a failed read must not look like a failed change.
        const usage = await readUsage(service.limitTable, old.keyHash);
        await confirm(`Replace ${nameOf(old)}?`);
        let expiresAt = 0;
        const replace = (replacedBy: string): Change => {
          // A rotation cannot give a key more time than it had.
          expiresAt = Math.min(service.now() + overlap, old.expiresAt || Infinity);
          const detail = `by ${replacedBy}, valid ${untilTime(expiresAt)}`;
          return { key: old, did: 'replaced', detail, set: { replacedBy, expiresAt }, anyLength: true };
        };
        const reveal = (issued: NewKey) =>
          output.reveal({ ...issued, replaces: keyId, overlapSeconds: overlap }, issuedText(issued));
        await createKey(service, { owner, plan, perMinute, perDay, note }, reveal, replace);
        // Cached results of the authorizer have no expiry.
        await flushAuthorizer(service);
        output.note(
          'The new key is valid. API Gateway can need some seconds until it accepts it everywhere.',
        );
        if (expiresAt <= service.now()) {
          await deleteFormerGatewayKey(service, old);
          output.note('The old one is not valid any more.');
        } else {
          const rejection = rejectionText(usage, limitsInForce(old), service.now());
          output.note(`The old one is valid ${untilTime(expiresAt)}.${rejection}`);
        }
      }),
    );

/** A request for a new key. */
export interface KeyRequest extends PlanLimits {
  readonly owner: string;
  readonly note?: string | undefined;
}

/** What the owner of a new key needs to know. */
export type NewKey = Awaited<ReturnType<typeof createKey>>;

/**
 * Issues a key: API Gateway key, usage plan, reveal, then the one write that makes it valid. The key is shown before
 * that write, so that no valid key exists that nobody has seen, and a rotation never ends a key whose replacement
 * got lost.
 *
 * @param reveal shows the new key, which is not valid yet. An error here withdraws it
 * @param replace the change of the key that it replaces, in the same transaction
 */
export async function createKey(
  service: KeyService,
  request: KeyRequest,
  reveal?: (issued: NewKey) => Promise<void>,
  replace?: (keyId: string) => Change,
) {
  const { stage } = service;
  const { owner, plan } = request;
  const key = newKey(stage);
  const keyHash = hashOfKey(key);
  const keyId = newKeyId(service.clock());
  const issued = { keyId, key, stage, owner, plan, ...limitsInForce(request) };
  await withGatewayKey(service, { keyHash, keyId, owner, plan }, keyHash, async (gatewayKeyId) => {
    await reveal?.(issued);
    await service.afterStep('reveal');
    const replaced = replace?.(keyId);
    const replaces = replaced?.key.keyId;
    const detail = describePlan(request) + (replaces === undefined ? '' : `, in place of ${replaces}`);
    const set = { ...request, status: 'active', createdAt: service.now(), gatewayKeyId, replaces };
    const created = { key: { keyHash, keyId, audit: [] }, did: 'created', detail, set };
    await write(service, created, ...(replaced ? [replaced] : [])).catch((error: unknown) => {
      // A key that was shown cannot be taken back, so the command is not repeated.
      throw error instanceof StaleRecordError ? new ToolError('refused', error.message) : error;
    });
  });
  return issued;
}

/** The only text that contains a key. */
function issuedText({ keyId, key, plan, perMinute, perDay }: NewKey): string {
  const limits = `${grouped(perMinute)} a minute, ${grouped(perDay)} a day`;
  return `Key ID  ${keyId}\nPlan    ${plan}: ${limits}\nKey     ${key}\nThe key is not shown again.`;
}
