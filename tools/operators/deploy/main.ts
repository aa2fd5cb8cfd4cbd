import { cdk, commitArgs } from './command.ts';
import { versionOfWorkTree } from './commits.ts';
import { deploy } from './deploy.ts';
import { printOnCallPolicy } from './on-call-policy.ts';
import { rollBack } from './roll-back.ts';

/**
 * `npm run diff`: `cdk diff` of what `npm run deploy:staging` would deploy, so with its commit. After a deployment that changed nothing, it
 * says so.
 */
const diff = async (args: readonly string[]): Promise<number> =>
  cdk(process.cwd(), ['diff', ...commitArgs(versionOfWorkTree()), ...args]);

/** `npm run deploy:staging`, `npm run roll-back:prod COMMIT` and `npm run diff` */
const commands = new Map([
  ['deploy', deploy],
  ['roll-back', rollBack],
  ['on-call-policy', printOnCallPolicy],
  ['diff', diff],
]);
const [, , command = '', ...args] = process.argv;
process.exitCode = await commands.get(command)!(args);
