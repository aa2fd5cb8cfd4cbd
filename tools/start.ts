import { parseOptions } from './local/options.ts';
import { runLocal } from './local/run.ts';

/** `npm start`: the whole service on this machine, with animals to look at and a key for each plan. */
await runLocal(parseOptions('start', process.argv.slice(2)), { reload: false });
