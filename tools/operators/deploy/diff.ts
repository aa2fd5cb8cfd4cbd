import { ConfigurationError } from '../../../lib/configuration/context.ts';
import { printable } from '../command-line/output.ts';
import { readArguments } from './arguments.ts';
import { cdk, commitArgs, deployCommand } from './command.ts';
import { versionOfWorkTree } from './commits.ts';
import { readProject } from './deployment.ts';

const help = () => `Usage: npm run diff -- [STAGE...] [OPTIONS]

Shows what a deployment would change in the stacks of these stages, or in all stacks. The name of a stack, or a pattern such
as "*-prod", can take the place of a stage.

Options:
  -c, --context KEY=VALUE   settings for this comparison
      --template FILE       compare with this template instead of that on AWS
      --profile NAME        profile of the AWS configuration (default: AWS_PROFILE)
  -h, --help                show this help

All other options go to "cdk diff".`;

/**
 * `npm run diff`: `cdk diff` of what `npm run deploy:staging` would deploy, so with its commit. After a deployment that changed nothing, it
 * says so.
 */
export const diff = deployCommand(help, async (first, others) => {
  const { positionals, textsOf, rest } = readArguments('diff', {}, [first ?? [], ...others].flat());
  const pairs = textsOf('context');
  const { name, stages, accountSettings, github } = readProject(pairs).configuration;
  const ofStages = new Map(Array.from(stages.keys(), (stage) => [stage as string, `${name}-${stage}`]));
  const stacks = new Set([
    ...ofStages.values(),
    ...(github === undefined ? [] : [`${name}-delivery`]),
    ...(accountSettings === 'managed' ? ['AnimalStore-account'] : []),
  ]);
  const chosen = positionals.map((each) => ofStages.get(each) ?? each);
  const unknown = chosen.find((each) => !stacks.has(each) && !each.includes('*'));
  if (unknown !== undefined)
    throw new ConfigurationError(
      `There is no stage or stack "${printable(unknown)}". There are ${[...ofStages.keys(), ...stacks].join(', ')}.`,
    );
  return cdk(process.cwd(), ['diff', ...commitArgs(versionOfWorkTree()), ...chosen, ...rest]);
});
