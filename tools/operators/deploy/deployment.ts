import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { ConfigurationError, readConfiguration } from '../../../lib/configuration/context.ts';
import { printable } from '../command-line/output.ts';

const ownOptions = {
  app: { type: 'string', short: 'a' },
  'confirm-loss': { type: 'string', multiple: true },
  context: { type: 'string', short: 'c', multiple: true },
  output: { type: 'string', short: 'o' },
  'skip-pre-traffic-checks': { type: 'boolean' },
} as const;

/** cdk.json. */
export const projectFile = z.looseObject({
  context: z.record(z.string(), z.unknown()),
  toolkitStackName: z.string().optional(),
});

/** What a call is about. @param args options, of which those that are not ours go to `cdk deploy`. @throws ConfigurationError */
export function readDeployment(name: string | undefined, args: readonly string[]) {
  const stage = (['staging', 'prod'] as const).find((each) => each === name);
  if (stage === undefined)
    throw new ConfigurationError(
      `The stage must be staging or prod${name === undefined ? '' : ` (got "${printable(name)}")`}.`,
    );
  const { values, tokens } = parseArgs({
    args: [...args],
    options: {
      ...ownOptions,
      profile: { type: 'string' },
      'toolkit-stack-name': { type: 'string' },
    },
    strict: false,
    tokens: true,
  });
  const own = new Set(
    tokens.flatMap((token) =>
      token.kind === 'option' && token.name in ownOptions
        ? [token.index, ...(token.inlineValue === false ? [token.index + 1] : [])]
        : [],
    ),
  );
  const texts = (value: (string | boolean)[] | string | boolean | undefined): string[] =>
    [value ?? []].flat().map(String);
  const json = projectFile.parse(JSON.parse(readFileSync('cdk.json', 'utf8')));
  const pairs = texts(values.context);
  const [app] = texts(values.app);
  if (app !== undefined && pairs.length > 0)
    throw new ConfigurationError(
      `The settings of an assembly cannot change: leave out --context, or leave out --app to synthesize the stack with it.`,
    );
  const context = { ...json.context, ...Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s, 2))) };
  const configuration = readConfiguration(context);
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
    profile: texts(values.profile)[0],
    toolkitStackName: texts(values['toolkit-stack-name'])[0] ?? json.toolkitStackName,
    /** The folder of an assembly that was synthesized before. */
    app,
    /** The folder for an assembly that somebody else deploys. */
    output: texts(values.output)[0],
    /** Logical IDs of what may be lost. */
    confirmed: texts(values['confirm-loss']),
    /** Whether new versions get requests without being checked before. For roll backs only. */
    skipsChecks: values['skip-pre-traffic-checks'] === true,
    /** cdk.json. */
    projectFile: json,
    /** What goes to `cdk deploy`. */
    rest: args.filter((_, index) => !own.has(index)),
  };
}
export type Deployment = ReturnType<typeof readDeployment>;
