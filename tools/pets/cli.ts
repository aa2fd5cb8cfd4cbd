import { defineTool } from '../operator/program.ts';
import { exportPets } from './commands/export.ts';
import { importPets } from './commands/import.ts';
import { list } from './commands/list.ts';
import { remove } from './commands/remove.ts';
import { setStatus } from './commands/set-status.ts';
import { show } from './commands/show.ts';
import { openPetService, type PetService } from './service.ts';

const help = `Examples:
  npm run pets -- list --stage local --status available
  npm run pets -- set-status 114052972904448 sold --stage prod
  npm run pets -- export animals.jsonl --stage prod
  npm run pets -- import animals.jsonl --stage staging

Exit codes: 0 done, 1 failed, 2 invalid arguments or lines, 3 no such animal or stack, 4 refused,
5 outcome unknown.
More in docs/pets.md.`;

/** Runs the tool once. Returns the exit code. */
export const runPets = defineTool<PetService>({
  call: 'npm run pets --',
  summary: 'Shows, corrects, removes, imports and exports the animals of a stage.',
  help,
  commands: [list, show, setStatus, remove, importPets, exportPets],
  openService: openPetService,
});
