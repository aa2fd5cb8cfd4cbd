import { Command, Option } from '@commander-js/extra-typings';
import { KeyToolError } from './errors.ts';
import { keyId, wholeNumber } from './options.ts';
import type { Output } from './output.ts';
import { type AdministeredKey, findKeyById, isValid } from './records.ts';
import { defaultStackPrefix, type KeyService, nowOf } from './service.ts';

/** The stages of the service (lib/stages.ts). */
export const stages = ['local', 'staging', 'prod'] as const;

/** What a command works with. */
export interface Session {
  readonly service: KeyService;
  readonly output: Output;
  /** Asks before a change in prod. @throws KeyToolError unless it is confirmed */
  readonly confirm: (question: string) => Promise<void>;
  /** All of standard input. */
  readonly input: () => Promise<string>;
}

/** The options of every command, and `--yes` of those that ask. */
export interface CommonOptions {
  readonly stage: (typeof stages)[number];
  readonly port?: number | undefined;
  readonly region?: string | undefined;
  readonly profile?: string | undefined;
  readonly name: string;
  readonly yes?: true | undefined;
}

/** Runs a command on the stage that its options name. */
export type Open = (options: CommonOptions, act: (session: Session) => Promise<void>) => Promise<void>;

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
  return stageCommand(name, summary, `key_06fz1m4tqabcdefg --stage prod ${example}`.trim(), details).argument(
    '<key-id>',
    'ID of the key',
    keyId,
  );
}

/**
 * The action of a command about one key: looks it up, checks its state, then runs.
 *
 * @param participle what cannot be done with a revoked or expired key, such as `rotated`
 */
export function onKey<T extends CommonOptions>(
  open: Open,
  run: (session: Session, key: AdministeredKey, options: T) => Promise<void>,
  participle?: string,
): (id: string, options: T) => Promise<void> {
  return (id, options) =>
    open(options, async (session) => {
      const { service } = session;
      const key = await findKeyById(service, id);
      if (key === undefined)
        throw new KeyToolError(
          'not_found',
          `There is no key ${id} in stage ${service.stage}. "list" shows all keys.`,
        );
      if (participle !== undefined && !isValid(key, nowOf(service))) {
        const state = key.status === 'active' ? 'expired' : key.status;
        throw new KeyToolError('refused', `${id} is ${state}, so it cannot be ${participle}.`);
      }
      await run(session, key, options);
    });
}

/** A key as a question names it. */
export function nameOf({ keyId: id, owner, plan }: AdministeredKey, { stage }: KeyService): string {
  return `${id} (${owner}, ${plan}) in ${stage}`;
}
