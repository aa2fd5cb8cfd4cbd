import { runVersions } from './cli.ts';

/** `npm run versions -- <command> --stage staging|prod`: see `--help` and docs/runbook.md. */

// A reader that goes away is the business of whatever was being written.
process.stdout.on('error', () => {});

process.exitCode = await runVersions(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  interactive: process.stdin.isTTY,
});
