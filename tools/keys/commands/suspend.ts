import { keyCommand, nameOf, onKey, type Open } from '../command.ts';
import { isoTime, untilTime } from '../format.ts';
import { duration, yesOption } from '../options.ts';
import { write } from '../records.ts';
import { nowOf } from '../service.ts';
import { indefinitely, suspendUse } from '../use.ts';

export const suspend = (open: Open) =>
  keyCommand(
    'suspend',
    'answer the requests of a key with 429 for a while, or until it is resumed',
    '--for 24h',
  )
    .option('--for <duration>', 'how long: 15m, 24h, 7d (default: until it is resumed)', duration(1))
    .addOption(yesOption())
    .action(
      onKey(
        open,
        async ({ service, output, confirm }, key, { for: seconds }) => {
          await confirm(`Suspend ${nameOf(key, service)}?`);
          const { keyId, keyHash } = key;
          const until = seconds === undefined ? indefinitely : nowOf(service) + seconds;
          await write(service, { key, did: 'suspended', detail: untilTime(until) });
          await suspendUse(service.limitTable, keyHash, until);
          output.result(
            { keyId, changed: true, suspendedUntil: isoTime(until) },
            `${keyId} is suspended ${untilTime(until)}.`,
          );
        },
        'suspended',
      ),
    );
