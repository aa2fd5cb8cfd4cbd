import { runAsProcess } from '../command-line/program.ts';
import { runKeys } from './cli.ts';

/** `npm run keys -- <command> --stage local|staging|prod`: see `--help` and docs/keys.md. */
await runAsProcess(runKeys);
