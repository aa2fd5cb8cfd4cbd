import { keyCommand, onKey, type Open } from '../command.ts';
import { nowOf } from '../service.ts';
import { readUse } from '../use.ts';
import { details, detailsText } from '../views.ts';

export const show = (open: Open) =>
  keyCommand('show', 'show a key: plan, use, suspension and audit trail').action(
    onKey(open, async ({ service, output }, key) => {
      const use = await readUse(service.limitTable, key.keyHash);
      const shown = details(key, use, nowOf(service));
      output.result(shown, detailsText(output, shown));
    }),
  );
