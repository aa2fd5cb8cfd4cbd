import { keyCommand, nameOf, onValidKey, type Open } from '../command.ts';
import { isoTime, untilTime } from '../format.ts';
import { duration, yesOption } from '../options.ts';
import { write } from '../records.ts';
import { indefinitely, setSuspension } from '../use.ts';

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
        const { keyId, keyHash } = key;
        await confirm(`Suspend ${nameOf(key)}?`);
        const until = seconds === undefined ? indefinitely : service.now() + seconds;
        await write(service, { key, did: 'suspended', detail: untilTime(until) });
        await setSuspension(service.limitTable, keyHash, until, service.now());
        const suspendedUntil = isoTime(until);
        output.result({ keyId, changed: true, suspendedUntil }, `${keyId} is suspended ${untilTime(until)}.`);
      }),
    );
