import { runAsProcess } from '../command-line/program.ts';
import { runSmoke } from './cli.ts';

/** `npm run smoke -- --url URL`: see `--help`. */
await runAsProcess((args, io) => runSmoke(args, io, process.env['SMOKE_KEY']));
