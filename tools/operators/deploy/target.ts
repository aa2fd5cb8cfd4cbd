import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { ConfigurationError, readConfiguration } from '../../../lib/configuration/context.ts';

const ownOptions = {
  app: { type: 'string', short: 'a' },
  'remove-table': { type: 'string', multiple: true },
} as const;

/** What a call is about. @param args options, of which those that are not ours go to `cdk deploy`. @throws ConfigurationError */
export function readTarget(name: string | undefined, args: readonly string[]) {
  const stage = (['staging', 'prod'] as const).find((each) => each === name);
  if (stage === undefined) throw new ConfigurationError(`The stage must be staging or prod (got "${name}").`);
  const { values, tokens } = parseArgs({
    args: [...args],
    options: {
      ...ownOptions,
      context: { type: 'string', short: 'c', multiple: true },
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
  const file = z.object({
    context: z.record(z.string(), z.unknown()),
    toolkitStackName: z.string().optional(),
  });
  const json = file.parse(JSON.parse(readFileSync('cdk.json', 'utf8')));
  const pairs = texts(values.context);
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
    app: texts(values.app)[0],
    removable: new Set(texts(values['remove-table'])),
    /** What goes to `cdk deploy`. */
    rest: args.filter((_, index) => !own.has(index)),
  };
}
export type Target = ReturnType<typeof readTarget>;
