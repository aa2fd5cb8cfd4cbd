import { deploy } from './deploy.ts';
import { printOnCallPolicy } from './on-call-policy.ts';
import { diff } from './diff.ts';
import { rollBack } from './roll-back.ts';

/** `npm run deploy:staging`, `npm run roll-back:prod COMMIT` and `npm run diff` */
const commands = new Map([
  ['deploy', deploy],
  ['roll-back', rollBack],
  ['on-call-policy', printOnCallPolicy],
  ['diff', diff],
]);
const [, , command = '', ...args] = process.argv;
process.exitCode = await commands.get(command)!(args);
