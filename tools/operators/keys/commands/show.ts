import { auditJson } from '../../command-line/change.ts';
import { tableLines } from '../../command-line/output.ts';
import { keyCommand, lookUp, type Open } from '../key-command.ts';
import { readUsage } from '../key-usage.ts';
import { detailsText, noteUnknownPlans, viewOf } from '../views.ts';

export const show = (open: Open) =>
  keyCommand('show', 'show a key: plan, use, suspension and audit trail').action(async (id, options) => {
    const { service, output } = await open(options);
    const key = await lookUp(service, id);
    const view = viewOf(key, await readUsage(service.limitTable, key.keyHash), service.now());
    const audit = key.audit.map(auditJson);
    const trail = audit.map(({ at, by, did, detail }) => [at ?? '', by, `${did} ${detail ?? ''}`]);
    const text = [...detailsText(output, view), '', ...tableLines([['WHEN', 'WHO', 'WHAT'], ...trail])];
    output.result({ ...view, audit }, text);
    noteUnknownPlans(output, [view]);
  });
