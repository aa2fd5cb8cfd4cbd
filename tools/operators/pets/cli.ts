import { defineTool } from '../command-line/program.ts';
import { backfill } from './commands/backfill.ts';
import { setStatus } from './commands/set-status.ts';
import { exportPets } from './commands/export.ts';
import { assignIds, importPets } from './commands/import.ts';
import { list } from './commands/list.ts';
import { remove } from './commands/remove.ts';
import { show } from './commands/show.ts';
import { openPetService, type PetService } from './service.ts';

/** Runs the tool once. Returns the exit code. */
export const runPets = defineTool<PetService>({
  call: 'npm run pets --',
  description: 'Shows, changes, removes, imports and exports the animals of a stage.',
  guide: 'docs/animals.md',
  afterInterruption: 'A change may be made or not: look with "show". The same command does what is missing.',
  commands: [list, show, setStatus, remove, assignIds, importPets, exportPets, backfill],
  openService: openPetService,
});
