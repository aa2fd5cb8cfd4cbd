import { parseOptions } from './local/options.ts';
import { runLocal } from './local/run.ts';

/** `npm start`: the service on this machine, with sample animals and a key for each plan. */
await runLocal(parseOptions('start', process.argv.slice(2)), { reload: false });
