import { parseOptions } from './local/options.ts';
import { runLocal } from './local/run.ts';

/** `npm run dev`: `npm start`, and applies changes of the project when a file is saved. */
await runLocal(parseOptions('dev', process.argv.slice(2)), { reload: true });
