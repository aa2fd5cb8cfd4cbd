import { duration, keyCommand, nameOf, onValidKey, type Open } from '../command.ts';
import { yesOption } from '../../command-line/command.ts';
import { settle } from '../../command-line/errors.ts';
import { isoTime } from '../../command-line/output.ts';
import { indefinitely, readUsage, setSuspension, untilTime } from '../key-usage.ts';
import { type AdministeredKey, write } from '../records.ts';
import type { KeyService } from '../service.ts';

export const suspend = (open: Open) =>
  keyCommand(
    'suspend',
    'answer the requests of a key with 429, for a while or until it is resumed',
    '--for 24h',
  )
    .option('--for <duration>', 'how long: 15m, 24h, 7d (default: until it is resumed)', duration(1))
    .addOption(yesOption)
    .action(
      onValidKey(open, 'suspended', async ({ service, output, confirm }, key, { for: seconds }) => {
        const { keyId } = key;
        await confirm(`Suspend ${nameOf(key)}?`);
        const until = seconds === undefined ? indefinitely : service.now() + seconds;
        await write(service, { key, did: 'suspended', detail: untilTime(until) });
        await apply(service, key, until);
        const suspendedUntil = isoTime(until);
        output.result({ keyId, changed: true, suspendedUntil }, `${keyId} is suspended ${untilTime(until)}.`);
      }),
    );

export const resume = (open: Open) =>
  keyCommand('resume', 'lift the suspension of a key, automatic ones included').action(
    onValidKey(open, 'resumed', async ({ service, output }, key) => {
      const { keyId, keyHash } = key;
      const changed = (await readUsage(service.limitTable, keyHash)).suspendedUntil > service.now();
      if (changed) {
        await write(service, { key, did: 'resumed' });
        await apply(service, key, 0);
      }
      output.result({ keyId, changed }, changed ? `${keyId} is resumed.` : `${keyId} is not suspended.`);
    }),
  );

/** @param until Unix seconds, 0 to lift the suspension */
async function apply(
  { limitTable, now }: KeyService,
  { keyId, keyHash }: AdministeredKey,
  until: number,
): Promise<void> {
  try {
    await setSuspension(limitTable, keyHash, until, now());
  } catch (error) {
    const isSet = async () => (await readUsage(limitTable, keyHash)).suspendedUntil === until;
    await settle(error, { id: keyId }, isSet);
  }
}
