import { runKeys } from './cli.ts';

/** `npm run keys -- <command> --stage local|staging|prod`: see `--help` and docs/keys.md. */

// A reader that goes away is the business of whatever was being written.
process.stdout.on('error', () => {});

process.exitCode = await runKeys(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  interactive: process.stdin.isTTY,
});
