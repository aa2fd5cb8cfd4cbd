import { Command } from '@commander-js/extra-typings';
import { exitCodeHelp } from '../command-line/errors.ts';
import { defineTool } from '../command-line/program.ts';
import { assignIds } from './commands/assign-ids.ts';
import { backfill } from './commands/backfill.ts';
import { exportPets } from './commands/export.ts';
import { importPets } from './commands/import.ts';
import { list } from './commands/list.ts';
import { remove } from './commands/remove.ts';
import { setStatus } from './commands/set-status.ts';
import { show } from './commands/show.ts';
import { openPetService, type PetService } from './service.ts';

const help = `
Examples:
  npm run pets -- list --stage local --status available
  npm run pets -- set-status 114052972904448 sold --stage prod
  npm run pets -- export animals.jsonl --stage prod
  npm run pets -- assign-ids new.jsonl animals.jsonl --stage staging
  npm run pets -- import animals.jsonl --stage staging
  npm run pets -- backfill add-nickname.ts --stage staging --dry-run

More in docs/animals.md.

${exitCodeHelp}`;

/** Runs the tool once. Returns the exit code. */
export const runPets = defineTool<PetService>(() => ({
  program: new Command('npm run pets --')
    .description('Shows, changes, removes, imports and exports the animals of a stage.')
    .addHelpText('after', help),
  afterInterruption: 'A change may be made or not: look with "show". The same command does what is missing.',
  commands: [list, show, setStatus, remove, assignIds, importPets, exportPets, backfill],
  openService: openPetService,
}));
