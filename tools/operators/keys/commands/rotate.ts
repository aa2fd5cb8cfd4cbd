import { customPlan } from '../../../../functions/access/plans.ts';
import { yesOption } from '../../command-line/stage-command.ts';
import { ToolError } from '../../command-line/errors.ts';
import { isoTime } from '../../command-line/output.ts';
import { checkLimits, duration, keyCommand, nameOf, onValidKey, type Open } from '../key-command.ts';
import { deleteFormerGatewayKey, flushAuthorizer } from '../gateway.ts';
import { readUsage, refusalOf, untilTime } from '../key-usage.ts';
import { type Change, limitsInForce } from '../records.ts';
import { createKey, issuedText, type NewKey } from './create.ts';

export const rotate = (open: Open) =>
  keyCommand(
    'rotate',
    'issue a key in place of another, which stays valid for a while',
    '--overlap 24h',
    'On AWS a new key becomes usable some seconds later: an overlap below 60s can lock its owner out.',
  )
    .option(
      '--overlap <duration>',
      'how long the old key stays valid: 0s, 15m, 7d (default: 24h)',
      duration(0),
    )
    .addOption(yesOption)
    .action(
      onValidKey(open, 'rotated', async ({ service, output, confirm }, old, { overlap = 86_400 }) => {
        const { keyId, owner, plan, note, perMinute, perDay, replacedBy: successor } = old;
        if (successor !== undefined)
          throw new ToolError('refused', `${keyId} was replaced by ${successor}. Rotate that one.`);
        if (plan === customPlan) checkLimits(old);
        const usage = await readUsage(service.limitTable, old.keyHash);
        const refusal = () => refusalOf(usage, limitsInForce(old), service.now());
        await confirm(`Replace ${nameOf(old)}${refusal() === undefined ? '' : `, which ${refusal()}`}?`);
        if (overlap < 60)
          output.note(
            'The old key ends before API Gateway accepts the new one everywhere: use --overlap 60s or more unless the old key leaked.',
            'yellow',
          );
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
        const isOver = expiresAt <= service.now();
        if (isOver) await deleteFormerGatewayKey(service, old);
        const state =
          refusal() === undefined
            ? `is valid ${untilTime(expiresAt)}`
            : `${refusal()}, and expires at ${isoTime(expiresAt)}`;
        output.note(
          `The new key is valid. The old one ${isOver ? 'is not' : state}. API Gateway can need some seconds until it accepts the new one everywhere.`,
        );
      }),
    );
