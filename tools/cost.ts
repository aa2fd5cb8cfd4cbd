import { join } from 'node:path';
import { costParts } from './cost/report.ts';
import { footprintOf } from './cost/stage.ts';
import { writeGenerated } from './generated.ts';

/** `npm run cost` prints what the service costs; with `-- --write` it also renews the tables of docs/cost.md. */
const parts = costParts({ staging: footprintOf('staging'), prod: footprintOf('prod') });
for (const part of Object.values(parts)) console.log(`${part}\n`);
if (process.argv.includes('--write')) {
  await writeGenerated(join(import.meta.dirname, '..', 'docs', 'cost.md'), parts);
}
