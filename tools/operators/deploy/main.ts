import { deploy } from './deploy.ts';
import { printOnCallPolicy } from './on-call-policy.ts';
import { rollBack } from './roll-back.ts';

/** `npm run deploy:staging` and `npm run roll-back:prod COMMIT` */
const commands = new Map([
  ['deploy', deploy],
  ['roll-back', rollBack],
  ['on-call-policy', printOnCallPolicy],
]);
const [, , command = '', ...args] = process.argv;
process.exitCode = await commands.get(command)!(args);
