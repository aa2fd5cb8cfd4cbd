import { auditJson } from '../../command-line/change.ts';
import { table } from '../../command-line/output.ts';
import { keyCommand, onKey, type Open } from '../key-command.ts';
import { readUsage } from '../key-usage.ts';
import { detailsText, viewOf } from '../views.ts';

export const show = (open: Open) =>
  keyCommand('show', 'show a key: plan, use, suspension and audit trail').action(
    onKey(open, async ({ service, output }, key) => {
      const view = viewOf(key, await readUsage(service.limitTable, key.keyHash), service.now());
      const audit = key.audit.map(auditJson);
      const trail = audit.map(({ at, by, did, detail }) => [at ?? '', by, `${did} ${detail ?? ''}`]);
      const text = `${detailsText(output, view)}\n\n${table([['WHEN', 'WHO', 'WHAT'], ...trail])}`;
      output.result({ ...view, audit }, text);
    }),
  );
