import { Command, Option } from '@commander-js/extra-typings';
import { KeyToolError } from './errors.ts';
import { keyId, wholeNumber } from './options.ts';
import type { Output } from './output.ts';
import { type AdministeredKey, findKeyById, isValid } from './records.ts';
import { defaultStackPrefix, type KeyService } from './service.ts';

/** The stages of the service (lib/configuration/stages.ts). */
export const stages = ['local', 'staging', 'prod'] as const;

/** What a command works with. */
interface Session {
  readonly service: KeyService;
  readonly output: Output;
  /** Asks before a change in prod. @throws KeyToolError unless it is confirmed */
  readonly confirm: (question: string) => Promise<void>;
  /** All of standard input. */
  readonly input: () => Promise<string>;
}

/** A command about the stage. */
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
    .addHelpText('after', `${details && `\n${details}\n`}\nExample:\n  npm run keys -- ${name} ${example}`);
}

/** A command about one key. */
export function keyCommand(name: string, summary: string, example = '', details = '') {
  const command = stageCommand(name, summary, `key_06fz1m4tqabcdefg --stage prod ${example}`.trim(), details);
  return command.argument('<key-id>', 'ID of the key', keyId);
}

/** The options of every command, and `--yes` of those that ask. */
export type CommonOptions = ReturnType<ReturnType<typeof stageCommand>['opts']> & { readonly yes?: true };

/** Runs a command on the stage that its options name. */
export type Open = (options: CommonOptions, run: (session: Session) => Promise<void>) => Promise<void>;

type KeyAction<T> = (session: Session, key: AdministeredKey, options: T) => Promise<void>;

/** The action of a command about any key, which it looks up. */
export function onKey<T extends CommonOptions>(open: Open, run: KeyAction<T>) {
  return (id: string, options: T) =>
    open(options, async (session) => {
      const key = await findKeyById(session.service, id);
      if (key !== undefined) return run(session, key, options);
      const message = `Key ${id} does not exist in stage ${options.stage}. "list" shows all keys.`;
      throw new KeyToolError('not_found', message);
    });
}

/** The action of a command about a valid key. @param participle what cannot be done with others, such as `rotated` */
export function onValidKey<T extends CommonOptions>(open: Open, participle: string, run: KeyAction<T>) {
  return onKey<T>(open, async (session, key, options) => {
    if (isValid(key, session.service.now())) return run(session, key, options);
    const state = key.status === 'active' ? 'expired' : key.status;
    throw new KeyToolError('refused', `${key.keyId} is ${state}, so it cannot be ${participle}.`);
  });
}

/** A key as a question names it. */
export function nameOf({ keyId: id, owner, plan }: AdministeredKey): string {
  return `${id} (${owner}, ${plan})`;
}
