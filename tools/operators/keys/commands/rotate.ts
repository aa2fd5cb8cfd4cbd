import { Option } from '@commander-js/extra-typings';
import { untilCurrent } from '../../command-line/change.ts';
import { ToolError } from '../../command-line/errors.ts';
import { yesOption } from '../../command-line/stage-command.ts';
import { deleteFormerGatewayKey, flushAuthorizer } from '../gateway.ts';
import { duration, expectValid, keyCommand, lookUp, nameOf, type Open } from '../key-command.ts';
import { readUsage, rejectionText, untilTime } from '../key-usage.ts';
import { limitsInForce } from '../records.ts';
import { createKey, reveal } from './create.ts';

/** Seconds. API Gateway has needed up to two minutes to accept a new key: tools/operators/smoke/wait-until-ready.ts. */
const shortestOverlap = 180;

export const rotate = (open: Open) =>
  keyCommand(
    'rotate',
    'issue a key in place of another, which stays valid for a while',
    '--overlap 24h',
    'On AWS, API Gateway can need minutes until it accepts the new key: an overlap below 3m can lock its owner out.',
  )
    .addOption(
      new Option('--overlap <duration>', 'how long the old key stays valid: 0s, 15m, 7d')
        .argParser(duration(0))
        .default(86_400, '24h'),
    )
    .addOption(yesOption)
    .action(async (id, { overlap, ...options }) => {
      const { service, output, confirm } = await open(options);
      await untilCurrent(async () => {
        const old = await lookUp(service, id);
        const { keyId, status, owner, plan, note, perMinute, perDay, replacedBy: successor } = old;
        if (successor !== undefined && status === 'active')
          throw new ToolError(
            'refused',
            `${keyId} was replaced by ${successor}. If it has leaked, revoke it: ${successor} stays as it is. Otherwise rotate ${successor}.`,
          );
        expectValid(old, service.now(), 'rotated');
        // This is read before the change, because a failed read must not look like a failed change.
        const usage = await readUsage(service.limitTable, old.keyHash);
        if (overlap < shortestOverlap)
          output.note(
            'With an overlap below 3m, the old key can end before API Gateway accepts the new one. Its owner gets 401 in between.',
            'yellow',
          );
        await confirm(`Replace ${nameOf(old)}?`);
        // A rotation cannot give a key more time than it had.
        const expiresAt = Math.min(service.now() + overlap, old.expiresAt || Infinity);
        const issued = await createKey(service, { owner, plan, perMinute, perDay, note }, { old, expiresAt });
        await reveal(service, output, issued, { old, overlapSeconds: overlap });
        // Cached results of the authorizer have no expiry.
        await flushAuthorizer(service);
        output.note('The new key is valid. API Gateway can need minutes until it accepts it everywhere.');
        if (expiresAt <= service.now()) {
          await deleteFormerGatewayKey(service, old);
          output.note('The old one is not valid any more.');
        } else {
          const rejection = rejectionText(usage, limitsInForce(old), service.now());
          output.note(`The old one is valid ${untilTime(expiresAt)}.${rejection}`);
        }
      });
    });
