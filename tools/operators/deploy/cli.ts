import { deploy } from './deploy.ts';
import { rollBack } from './roll-back.ts';

/** `npm run deploy:staging` and `npm run roll-back:prod COMMIT` */
const [, , command, ...args] = process.argv;
process.exitCode = await (command === 'roll-back' ? rollBack : deploy)(args);
