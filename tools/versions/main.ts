import { runAsProcess } from '../command-line/program.ts';
import { runVersions } from './cli.ts';

/** `npm run versions -- <command> --stage staging|prod`: see `--help` and docs/runbook.md. */
await runAsProcess(runVersions);
