import { keyCommand, nameOf, onKey, type Open } from '../command.ts';
import { KeyToolError } from '../errors.ts';
import { untilTime } from '../format.ts';
import { deleteGatewayKey, flushAuthorizer } from '../gateway.ts';
import { issue } from '../issue.ts';
import { checkLimits, duration, yesOption } from '../options.ts';
import { isValid, ownLimits } from '../records.ts';
import { nowOf } from '../service.ts';
import { issuedText } from '../views.ts';

/** Seconds within which API Gateway should accept a new key everywhere. */
const shortestOverlap = 60;

export const rotate = (open: Open) =>
  keyCommand(
    'rotate',
    'issue a key in place of another, which stays valid for a while',
    '--overlap 24h',
    'On AWS a new key becomes usable some seconds later: an overlap below 60s can lock its owner out.',
  )
    .option(
      '--overlap <duration>',
      'how long the old key stays valid: 0s, 90s, 15m, 24h, 7d (default: 24h)',
      duration(0),
    )
    .addOption(yesOption())
    .action(
      onKey(
        open,
        async ({ service, output, confirm }, old, { overlap: seconds = 86_400 }) => {
          const { keyId, owner, plan, note, replacedBy: successor } = old;
          if (successor !== undefined)
            throw new KeyToolError('refused', `${keyId} was replaced by ${successor}. Rotate that one.`);
          const limits = checkLimits(plan, ownLimits(old));
          await confirm(`Replace ${nameOf(old, service)}?`);
          if (seconds < shortestOverlap)
            output.note(
              'The old key ends before API Gateway accepts the new one everywhere: use --overlap 60s or more unless the old key leaked.',
              'yellow',
            );
          let expiresAt = 0;
          const change = (replacedBy: string) => {
            // A rotation cannot give a key more time than it had.
            expiresAt = Math.min(nowOf(service) + seconds, old.expiresAt || Infinity);
            const detail = `by ${replacedBy}, valid ${untilTime(expiresAt)}`;
            return { key: old, did: 'replaced', detail, set: { replacedBy, expiresAt }, anyLength: true };
          };
          await issue(
            service,
            { owner, plan, limits, note },
            (issued) =>
              output.reveal({ ...issued, replaces: keyId, overlapSeconds: seconds }, issuedText(issued)),
            change,
          );
          // Cached answers of the authorizer have no expiry.
          await flushAuthorizer(service);
          if (!isValid({ ...old, expiresAt }, nowOf(service)))
            await deleteGatewayKey(service, old.gatewayKeyId);
          output.note(
            `The new key is valid, the old one ${untilTime(expiresAt)}. API Gateway can need some seconds until it accepts the new one everywhere.`,
          );
        },
        'rotated',
      ),
    );
