import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { readableText } from '../../../functions/pets/schema.ts';
import type { StageName } from '../../../lib/configuration/stages.ts';
import { ToolError } from './errors.ts';
import { grouped, type Output, redact } from './output.ts';

const known: Readonly<Record<StageName, true>> = { local: true, staging: true, prod: true };
/** The stages of the service, without the CDK that their settings load. */
const stages = Object.keys(known) as StageName[];

/** What a command works with. */
export interface Session<Service> {
  readonly service: Service;
  readonly output: Output;
  /** Asks before a change in prod. @throws ToolError unless it is confirmed */
  readonly confirm: (question: string) => Promise<void>;
  /** What to do on Ctrl-C, which is waited for, and then ends the tool. */
  readonly onInterruption: (end: () => Promise<void>) => void;
  /** All of standard input. @param prompt for a person at a terminal */
  readonly input: (prompt: string) => Promise<string>;
}

/** A command about a stage. @param example its arguments and options in a call */
export function stageCommand(name: string, summary: string, example: string, details = '') {
  return new Command(name)
    .description(summary)
    .addOption(
      new Option('--stage <stage>', 'stage of the service (required)')
        .choices(stages)
        .env('ANIMAL_STORE_STAGE')
        .makeOptionMandatory(),
    )
    .option('--json', 'print JSON')
    .option('--port <n>', 'port of the local service (default: that of the last one)', wholeNumber(1, 65_535))
    .option('--region <region>', 'AWS Region (default: AWS_REGION, or the one of the profile)', regionName)
    .option('--profile <profile>', 'profile of the AWS configuration (default: AWS_PROFILE)')
    .option('--name <name>', 'name of the copy (default: that of cdk.json, or AnimalStore)', copyName)
    .addHelpText('after', ({ command }) => {
      const call = `${command.parent?.name()} ${name} ${example}`;
      return `${details && `\n${details}\n`}\nExample:\n  ${call}`;
    });
}

function regionName(text: string): string {
  if (/^[a-z]+(-[a-z]+)+-\d+$/.test(text)) return text;
  throw new InvalidArgumentError('A Region looks like eu-central-1.');
}

/** The name of a copy, as lib/configuration/context.ts has it. */
function copyName(text: string): string {
  if (/^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be 1 to 64 letters, digits and hyphens, with a letter first.');
}

/** The options of every command, and `--yes` of those that ask. */
type CommonOptions = ReturnType<ReturnType<typeof stageCommand>['opts']> & { readonly yes?: true };

/** Opens the stage that the options of a command name, until the program ends. */
export type Open<Service> = (options: CommonOptions) => Promise<Session<Service>>;

/** The record that a command is about. @param name such as `Key key_06fz1m4tqabcdefg` @throws ToolError if there is none */
export function existing<Item>(item: Item | undefined, name: string, stage: string): Item {
  if (item !== undefined) return item;
  throw new ToolError('not_found', `${name} does not exist in stage ${stage}. "list" shows all.`);
}

/** Says that a filter matches nothing at all: otherwise, the answer to a mistyped one looks like that to the right one. */
export function noMatch(place: string, items: string): string {
  return `${place} has no ${items}. Check the spelling, capital letters included, and the stage.`;
}

/** Text that is stored, by the rule for an animal's name. In one form of Unicode (NFC), by which it is found again. */
export function line(longest: number): (text: string) => string {
  const schema = readableText(1, longest);
  return (given) => {
    const normal = given.normalize('NFC');
    if (redact(normal) !== normal) throw new InvalidArgumentError('It must not contain an API key.');
    const { data, error } = schema.safeParse(normal);
    if (data !== undefined) return data;
    throw new InvalidArgumentError(`It ${error.issues.map(({ message }) => message).join(', and ')}.`);
  };
}

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    if (/^\d+$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${grouped(max)}.`);
  };
}

export const yesOption = new Option('-y, --yes', 'do not ask for confirmation in prod');
