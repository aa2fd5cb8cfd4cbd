import { ConfigurationError, readConfiguration } from '../../../lib/configuration/context.ts';
import { printable } from '../command-line/output.ts';
import { readProjectFile } from '../command-line/project-file.ts';
import { readArguments } from './arguments.ts';

const ownOptions = {
  app: { type: 'string', short: 'a' },
  'confirm-loss': { type: 'string', multiple: true },
  context: { type: 'string', short: 'c', multiple: true },
  output: { type: 'string', short: 'o' },
  'skip-pre-traffic-checks': { type: 'boolean' },
} as const;

/** The configuration of cdk.json, with the pairs of `--context`. @throws ConfigurationError, and ToolError for the file */
export function readProject(pairs: readonly string[]) {
  const json = readProjectFile();
  const context = { ...json.context, ...Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s, 2))) };
  return { json, context, configuration: readConfiguration(context) };
}

/**
 * What a call is about.
 *
 * @param args options, of which those that are not ours go to `cdk deploy`, and arguments, such as a commit
 * @param most number of these arguments
 * @throws ConfigurationError
 */
export function readDeployment(name: string | undefined, args: readonly string[], most = 0) {
  const stage = (['staging', 'prod'] as const).find((each) => each === name);
  if (stage === undefined)
    throw new ConfigurationError(
      `The stage must be staging or prod${name === undefined ? '' : ` (got "${printable(name)}")`}.`,
    );
  const { positionals, textsOf, has, rest } = readArguments('deploy', ownOptions, args);
  const surplus = positionals[most];
  if (surplus !== undefined)
    throw new ConfigurationError(`"${printable(surplus)}" is an argument too many. "--help" lists them.`);
  const pairs = textsOf('context');
  const [app] = textsOf('app');
  if (app !== undefined && pairs.length > 0)
    throw new ConfigurationError(
      `The settings of an assembly cannot change: leave out --context, or leave out --app to synthesize the stack with it.`,
    );
  const { json, context, configuration } = readProject(pairs);
  const settings = configuration.stages.get(stage);
  if (settings === undefined)
    throw new ConfigurationError(`cdk.json or the context "stage" leaves ${stage} out.`);
  return {
    ...configuration,
    stage,
    stackName: `${configuration.name}-${stage}`,
    settings,
    context,
    contextArgs: pairs.flatMap((pair) => ['-c', pair]),
    profile: textsOf('profile')[0],
    toolkitStackName: textsOf('toolkit-stack-name')[0] ?? json.toolkitStackName,
    /** The folder of an assembly that was synthesized before. */
    app,
    /** The folder for an assembly that somebody else deploys. */
    output: textsOf('output')[0],
    /** Logical IDs of what may be lost. */
    confirmed: textsOf('confirm-loss'),
    /** Whether new versions get requests without being checked before. For roll backs only. */
    skipsChecks: has('skip-pre-traffic-checks'),
    /** cdk.json. */
    projectFile: json,
    /** What goes to `cdk deploy`. */
    rest,
    /** A commit. */
    positionals,
  };
}
export type Deployment = ReturnType<typeof readDeployment>;
