import { runSmoke } from './cli.ts';

/** `npm run smoke -- --url URL`: see `--help`. */
const { stdin, stdout, stderr, env } = process;
// A reader that goes away does not end the checks.
for (const stream of [stdout, stderr]) stream.on('error', () => {});
const io = { stdin, stdout, stderr, interactive: stdin.isTTY };
process.exitCode = await runSmoke(process.argv.slice(2), io, { variable: env['SMOKE_KEY'] });
