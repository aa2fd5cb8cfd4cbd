import { Option } from '@commander-js/extra-typings';
import { yesOption } from '../../command-line/stage-command.ts';
import { ToolError } from '../../command-line/errors.ts';
import { duration, keyCommand, nameOf, onValidKey, type Open } from '../key-command.ts';
import { deleteFormerGatewayKey, flushAuthorizer } from '../gateway.ts';
import { readUsage, rejectionText, untilTime } from '../key-usage.ts';
import { type Change, limitsInForce } from '../records.ts';
import { createKey, issuedText, type NewKey } from './create.ts';

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
    .action(
      onValidKey(open, 'rotated', async ({ service, output, confirm }, old, { overlap }) => {
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
