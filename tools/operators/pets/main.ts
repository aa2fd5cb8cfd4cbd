import { runAsProcess } from '../command-line/program.ts';
import { runPets } from './cli.ts';

/** `npm run pets -- <command> --stage local|staging|prod`: see `--help` and docs/animals.md. */
await runAsProcess(runPets);
