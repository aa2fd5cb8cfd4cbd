import { Option } from 'commander';
import { z } from 'zod';
import { planNames } from '../../../functions/access/plans.ts';
import { stageCommand } from '../command.ts';
import { grouped, table, time } from '../format.ts';
import { keyStatuses, listKeys } from '../listing.ts';
import { cursor, ownerFilter, planOption, wholeNumber } from '../options.ts';
import { paintStatus, summary } from '../views.ts';

const pageSize = { min: 1, max: 100, default: 20 } as const;
const statusColumn = 1;

export const list = stageCommand({
  name: 'list',
  summary: 'list keys, newest first',
  example: '--stage prod --plan free --status active --limit 50',
  options: [
    ownerFilter(),
    planOption('only keys on this plan'),
    new Option('--status <status>', 'only keys with this status').choices(keyStatuses),
    new Option('--limit <n>', 'keys at most')
      .default(pageSize.default)
      .argParser(wholeNumber(pageSize.min, pageSize.max)),
    new Option('--cursor <cursor>', 'continue after the previous page').argParser(cursor),
  ],
  schema: z.object({
    owner: z.string().optional(),
    plan: z.enum(planNames).optional(),
    status: z.enum(keyStatuses).optional(),
    limit: z.number(),
    cursor: z.string().optional(),
  }),
  run: async ({ service, output }, options) => {
    const page = await listKeys(service, options);
    const rows = page.keys.map(({ key, use, status }) => [
      key.keyId,
      status,
      key.plan,
      time(key.createdAt).slice(0, 10),
      use?.minute ? time(use.minute).slice(0, 16) : 'never',
      key.owner,
      key.note ?? '',
    ]);
    const heads = ['KEY ID', 'STATUS', 'PLAN', 'CREATED', 'LAST USED', 'OWNER', 'NOTE'];
    output.result(
      { keys: page.keys.map(summary), cursor: page.cursor ?? null },
      rows.length === 0
        ? 'No keys.'
        : table(heads, rows, (cell, column) => (column === statusColumn ? paintStatus(output, cell) : cell)),
    );
    for (const message of new Set(page.malformed.map((error) => error.message)))
      output.note(message, 'yellow');
    if (page.cursor === undefined || output.json) return;
    const looked = page.keys.length < options.limit ? ` after ${grouped(page.examined)} records` : '';
    output.note(`There may be more${looked}: --cursor ${page.cursor}`);
  },
});
