import { commit, untilCurrent } from '../../command-line/change.ts';
import { ToolError } from '../../command-line/errors.ts';
import { isoTime } from '../../command-line/output.ts';
import { yesOption } from '../../command-line/stage-command.ts';
import { duration, expectValid, keyCommand, lookUp, nameOf, type Open } from '../key-command.ts';
import { indefinitely, readUsage, rejectionText, setSuspension, untilTime } from '../key-usage.ts';
import { type AdministeredKey, limitsInForce, write } from '../records.ts';
import type { KeyService } from '../service.ts';

export const suspend = (open: Open) =>
  keyCommand(
    'suspend',
    'answer the requests of a key with 429, for a while or until it is resumed',
    '--for 24h',
    'A suspension that ends later stays, automatic ones included, unless --shorten is given.',
  )
    .option('--for <duration>', 'how long: 15m, 24h, 7d (default: until it is resumed)', duration(1))
    .option('--shorten', 'also end a suspension earlier', false)
    .addOption(yesOption)
    .action(async (keyId, { for: seconds, shorten, ...options }) => {
      const { service, output, confirm } = await open(options);
      await untilCurrent(async () => {
        const key = await lookUp(service, keyId);
        expectValid(key, service.now(), 'suspended');
        const { keyHash } = key;
        const { suspendedUntil } = await readUsage(service.limitTable, keyHash);
        const earlier = suspendedUntil > service.now() ? suspendedUntil : 0;
        const until = seconds === undefined ? indefinitely : service.now() + seconds;
        if (earlier > until && !shorten)
          throw new ToolError(
            'refused',
            `${keyId} is suspended ${untilTime(earlier)}, which is longer. To end that earlier, add --shorten.`,
          );
        const changed = earlier !== until;
        const before = earlier && changed ? `, before that ${untilTime(earlier)}` : '';
        if (changed) {
          await confirm(`Suspend ${nameOf(key)} ${untilTime(until)}${before}?`);
          await write(service, { key, did: 'suspended', detail: untilTime(until) + before });
          await apply(service, key, until, shorten ? Math.max(earlier, until) : until);
        }
        output.result(
          { keyId, changed, suspendedUntil: isoTime(until), suspendedUntilBefore: isoTime(earlier) },
          `${keyId} is suspended ${untilTime(until)}${changed ? before : ' already'}.`,
        );
      });
    });

export const resume = (open: Open) =>
  keyCommand('resume', 'lift the suspension of a key, automatic ones included').action(
    async (keyId, options) => {
      const { service, output } = await open(options);
      await untilCurrent(async () => {
        const key = await lookUp(service, keyId);
        expectValid(key, service.now(), 'resumed');
        const usage = await readUsage(service.limitTable, key.keyHash);
        const { suspendedUntil: earlier } = usage;
        const changed = earlier > service.now();
        if (changed) {
          await write(service, { key, did: 'resumed', detail: `(suspended ${untilTime(earlier)})` });
          await apply(service, key, 0);
        }
        const text = changed
          ? `${keyId} is resumed, before that suspended ${untilTime(earlier)}.`
          : `${keyId} is not suspended.`;
        const resumed = { ...usage, suspendedUntil: 0 };
        output.result({ keyId, changed }, text + rejectionText(resumed, limitsInForce(key), service.now()));
      });
    },
  );

/**
 * @param until Unix seconds, 0 to lift the suspension
 * @param latestEnd of a suspension that this may replace
 * @throws StaleRecordError if there is a longer one by now
 */
async function apply(
  { limitTable, now }: KeyService,
  { keyId, keyHash }: AdministeredKey,
  until: number,
  latestEnd?: number,
): Promise<void> {
  await commit({
    id: keyId,
    send: () => setSuspension(limitTable, keyHash, until, now(), latestEnd),
    isMade: async () => (await readUsage(limitTable, keyHash)).suspendedUntil === until,
  });
}
