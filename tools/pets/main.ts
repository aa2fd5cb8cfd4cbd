import { runPets } from './cli.ts';

/** `npm run pets -- <command> --stage local|staging|prod`: see `--help` and docs/pets.md. */

// A reader that goes away is the business of whatever was being written.
process.stdout.on('error', () => {});

process.exitCode = await runPets(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  interactive: process.stdin.isTTY,
});
