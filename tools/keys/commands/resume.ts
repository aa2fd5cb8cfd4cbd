import { keyCommand, onValidKey, type Open } from '../command.ts';
import { write } from '../records.ts';
import { readUse, setSuspension } from '../use.ts';

export const resume = (open: Open) =>
  keyCommand('resume', 'lift the suspension of a key, automatic ones included').action(
    onValidKey(open, 'resumed', async ({ service, output }, key) => {
      const { keyId, keyHash } = key;
      const changed = (await readUse(service.limitTable, keyHash)).suspendedUntil > service.now();
      if (changed) {
        await write(service, { key, did: 'resumed' });
        await setSuspension(service.limitTable, keyHash, 0, service.now());
      }
      output.result({ keyId, changed }, changed ? `${keyId} is resumed.` : `${keyId} is not suspended.`);
    }),
  );
