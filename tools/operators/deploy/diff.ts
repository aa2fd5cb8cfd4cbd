import { cdk, commitArgs } from './command.ts';
import { versionOfWorkTree } from './commits.ts';

/**
 * `npm run diff`: `cdk diff` of what `npm run deploy:staging` would deploy, so with its commit. After a deployment that changed nothing, it
 * says so.
 */
export async function diff(args: readonly string[]): Promise<number> {
  return cdk(process.cwd(), ['diff', ...commitArgs(versionOfWorkTree()), ...args]);
}
