import { join } from 'node:path';
import { Command } from 'commander';
import { z } from 'zod';
import { writeGenerated } from './generated.ts';
import { splitAfter } from './simulate/heat.ts';
import { browsing, defaults, documented, heatTable, type Run, scaleParts } from './simulate/report.ts';

/** `npm run simulate`: how hot the index by status becomes at 100, 1,000 and 10,000 requests a second. */
const command: Command = new Command('npm run simulate --')
  .description(
    'Simulates the heat of the index by status. Without options it prints the table of docs/scale.md.',
  )
  .option('--rate <n>', 'requests a second, instead of the scenarios of docs/scale.md')
  .option('--create <share>', 'with --rate: share of the requests that create, 0 to 1')
  .option('--first-pages <share>', 'with --rate: share of the listings that ask for a first page, 0 to 1')
  .option('--shards <n>', 'with --rate: partition keys that a status is spread over')
  .option('--copies <n>', 'with --rate: indexes of which each listing reads one')
  .option('--seed <n>', 'another run of the dice', String(defaults.seed))
  .option('--seconds <n>', `how long it runs, at least ${2 * splitAfter}`, String(defaults.seconds))
  .option('--write', 'writes the table into docs/scale.md')
  .addHelpText(
    'after',
    '\nThe same seed gives the same table. What is modelled, and what is not, is in docs/scale.md.',
  )
  .parse();

const count = z.coerce.number().int().min(1);
const share = z.coerce.number().min(0).max(1);
const parsed = z
  .object({
    rate: count.optional(),
    create: share.default(browsing.create),
    firstPages: share.default(browsing.firstPages),
    shards: count.default(1),
    copies: count.default(1),
    seed: z.coerce.number().int().min(0),
    seconds: count.min(2 * splitAfter),
    write: z.boolean().default(false),
  })
  .safeParse(command.opts());
if (!parsed.success) command.error(z.prettifyError(parsed.error), { exitCode: 2 });

const { rate, create, firstPages, shards, copies, seed, seconds, write } = parsed.data;
console.log(heatTable(rate === undefined ? documented : [chosen(rate)], { seed, seconds }));
if (write) await writeGenerated(join(import.meta.dirname, '..', 'docs', 'scale.md'), scaleParts());

/** What does not create is spread over the other requests as it is among those who browse. */
function chosen(requestsPerSecond: number): Run {
  const rest = (1 - create) / (1 - browsing.create);
  const workload = {
    ...browsing,
    list: browsing.list * rest,
    listByStatus: browsing.listByStatus * rest,
    create,
    firstPages,
  };
  return { name: 'as asked', workload, requestsPerSecond, design: { shards, copies } };
}
