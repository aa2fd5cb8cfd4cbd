import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { StageName } from '../../../lib/configuration/stages.ts';
import { untilCurrent } from './change.ts';
import { ToolError } from './errors.ts';
import { grouped, type Output, redact } from './output.ts';
import { defaultStackPrefix } from './stack.ts';

const known: Readonly<Record<StageName, true>> = { local: true, staging: true, prod: true };
/** The stages of the service, without the CDK that their settings load. */
const stages = Object.keys(known) as StageName[];

/** What a command works with. */
export interface Session<Service> {
  readonly service: Service;
  readonly output: Output;
  /** Asks before a change in prod. @throws ToolError unless it is confirmed */
  readonly confirm: (question: string) => Promise<void>;
  /** All of standard input. @param prompt for a person at a terminal */
  readonly input: (prompt: string) => Promise<string>;
}

/** A command about a stage. @param example its arguments and options in a call */
export function stageCommand(name: string, summary: string, example: string, details = '') {
  return new Command(name)
    .description(summary)
    .addOption(
      new Option('--stage <stage>', 'stage of the service (required)').choices(stages).makeOptionMandatory(),
    )
    .option('--json', 'print JSON')
    .option('--port <n>', 'port of the local service (default: that of the last one)', wholeNumber(1, 65_535))
    .option('--region <region>', 'AWS Region (default: AWS_REGION, or the one of the profile)')
    .option('--profile <profile>', 'profile of the AWS configuration (default: AWS_PROFILE)')
    .option('--name <name>', 'name of the copy, as given to the CDK app', defaultStackPrefix)
    .addHelpText('after', ({ command }) => {
      const call = `${command.parent?.name()} ${name} ${example}`;
      return `${details && `\n${details}\n`}\nExample:\n  ${call}`;
    });
}

/** The options of every command, and `--yes` of those that ask. */
export type CommonOptions = ReturnType<ReturnType<typeof stageCommand>['opts']> & { readonly yes?: true };

/** Runs a command on the stage that its options name. */
export type Open<Service> = (
  options: CommonOptions,
  run: (session: Session<Service>) => Promise<void>,
) => Promise<void>;

/**
 * Runs a command on a record, which it reads, and again if someone else changes it meanwhile.
 *
 * @param name of the record, such as `Key key_06fz1m4tqabcdefg`
 */
export function onRecord<Service, Item>(
  open: Open<Service>,
  options: CommonOptions,
  name: string,
  read: (service: Service) => Promise<Item | undefined>,
  run: (session: Session<Service>, item: Item) => Promise<void>,
): Promise<void> {
  return open(options, (session) =>
    untilCurrent(async () => {
      const item = await read(session.service);
      if (item !== undefined) return run(session, item);
      const message = `${name} does not exist in stage ${options.stage}. "list" shows all.`;
      throw new ToolError('not_found', message);
    }),
  );
}

/** Text that is stored, and printed on terminals later. In one form of Unicode (NFC), by which it is found again. */
export function line(longest: number): (text: string) => string {
  return (given) => {
    const text = given.normalize('NFC');
    if (redact(text) !== text) throw new InvalidArgumentError('It must not contain an API key.');
    if (/^[^\p{C}\p{Zl}\p{Zp}]*$/u.test(text) && /\S/.test(text) && text.length <= longest) return text;
    throw new InvalidArgumentError(`It must be one line of 1 to ${longest} printable characters.`);
  };
}

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    if (/^\d+$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${grouped(max)}.`);
  };
}

export const yesOption = new Option('-y, --yes', 'do not ask for confirmation in prod');
