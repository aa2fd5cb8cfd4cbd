import { readFileSync } from 'node:fs';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { z } from 'zod';
import { ConfigurationError } from '../../../lib/configuration/context.ts';
import { printable } from '../command-line/output.ts';

type Options = NonNullable<ParseArgsConfig['options']>;

const described = z.record(
  z.string(),
  z.object({ type: z.string(), alias: z.union([z.string(), z.array(z.string())]).default([]) }),
);
const registry = z.object({
  globalOptions: described,
  commands: z.record(z.string(), z.object({ options: described.default({}) })),
});

/** The options of a command of the CDK, as the installed version lists them. */
function optionsOfCdk(command: 'deploy' | 'diff'): Options {
  const file = new URL('../../../node_modules/aws-cdk/lib/cli/cli-type-registry.json', import.meta.url);
  const { globalOptions, commands } = registry.parse(JSON.parse(readFileSync(file, 'utf8')));
  const all = Object.entries({ ...globalOptions, ...commands[command]!.options });
  return Object.fromEntries(
    all.flatMap(([name, { type: ofCdk, alias }]) => {
      const type = ofCdk === 'boolean' || ofCdk === 'count' ? 'boolean' : 'string';
      const short = [alias].flat().find((each) => each.length === 1);
      const others = [alias].flat().filter((each) => each.length > 1);
      const option = { type, multiple: true, ...(short !== undefined && { short }) } as const;
      return [[name, option], ...others.map((each) => [each, { type, multiple: true }] as const)];
    }),
  );
}

/**
 * The arguments of a command that passes options to the CDK. The CDK only warns of an option that it does not know, and goes on.
 *
 * @param own the options that the CDK does not get
 * @throws ConfigurationError
 */
export function readArguments(command: 'deploy' | 'diff', own: Options, args: readonly string[]) {
  const options = new Map(Object.entries({ ...optionsOfCdk(command), ...own }));
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(options),
    strict: false,
    tokens: true,
  });
  const taken = new Set<number>();
  for (const token of tokens) {
    if (token.kind === 'positional') taken.add(token.index);
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue, index } = token;
    const negated = options.get(name.replace(/^no-/, ''));
    const option = options.get(name) ?? (negated?.type === 'boolean' ? negated : undefined);
    if (option === undefined)
      throw new ConfigurationError(`Unknown option '${printable(rawName)}'. "--help" lists the options.`);
    if (option.type === 'string' && (value === undefined || (!inlineValue && value.startsWith('-'))))
      throw new ConfigurationError(`${rawName} needs a value.`);
    if (name === 'context' && !value!.includes('='))
      throw new ConfigurationError(`${rawName} must be KEY=VALUE (got "${printable(value!)}").`);
    if (!(name in own)) continue;
    taken.add(index);
    if (inlineValue === false) taken.add(index + 1);
  }
  const textsOf = (name: string): string[] => [values[name] ?? []].flat().map(String);
  return {
    positionals,
    textsOf,
    has: (name: string): boolean => values[name] === true,
    /** The options for the CDK. */
    rest: args.filter((_, index) => !taken.has(index)),
  };
}
