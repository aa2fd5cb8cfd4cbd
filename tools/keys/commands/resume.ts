import { keyCommand, onKey, type Open } from '../command.ts';
import { write } from '../records.ts';
import { nowOf } from '../service.ts';
import { readUse, resumeUse } from '../use.ts';

export const resume = (open: Open) =>
  keyCommand('resume', 'lift the suspension of a key, automatic ones included').action(
    onKey(
      open,
      async ({ service, output }, key) => {
        const { keyId, keyHash } = key;
        const now = nowOf(service);
        const changed = (await readUse(service.limitTable, keyHash)).suspendedUntil > now;
        if (changed) {
          await write(service, { key, did: 'resumed' });
          await resumeUse(service.limitTable, keyHash, now);
        }
        output.result({ keyId, changed }, changed ? `${keyId} is resumed.` : `${keyId} is not suspended.`);
      },
      'resumed',
    ),
  );
