import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { text as readAll } from 'node:stream/consumers';
import { Argument, Command as CommanderCommand, CommanderError, Option } from 'commander';
import { z } from 'zod';
import type { Command, Session } from './command.ts';
import { changePlan } from './commands/change-plan.ts';
import { cleanup } from './commands/cleanup.ts';
import { completionScript, shells } from './commands/completion.ts';
import { create } from './commands/create.ts';
import { identify } from './commands/identify.ts';
import { list } from './commands/list.ts';
import { repair } from './commands/repair.ts';
import { resume } from './commands/resume.ts';
import { revoke } from './commands/revoke.ts';
import { rotate } from './commands/rotate.ts';
import { show } from './commands/show.ts';
import { suspend } from './commands/suspend.ts';
import { usage } from './commands/usage.ts';
import { exitCodes, KeyToolError } from './errors.ts';
import { explain } from './explain.ts';
import { localEndpoint } from './local-service.ts';
import { checkKeyId, wholeNumber } from './options.ts';
import { type Io, Output, redact } from './output.ts';
import { defaultStackPrefix, type KeyServiceOptions, openKeyService } from './service.ts';
import { changeJson, changeText } from './views.ts';

const commands: readonly Command[] = [
  create,
  list,
  show,
  usage,
  rotate,
  revoke,
  suspend,
  resume,
  changePlan,
  identify,
  cleanup,
  repair,
];

/** The stages of the service (lib/stages.ts). */
export const stages = ['local', 'staging', 'prod'] as const;
const localStage = 'local';
/** Where a change that takes something away from a client needs a confirmation. */
const confirmedStage = 'prod';

const packageFile = join(import.meta.dirname, '..', '..', 'package.json');
const program = 'animal-store-keys';

const commonOptions = z.object({
  stage: z.enum(stages),
  json: z.boolean().default(false),
  yes: z.boolean().default(false),
  port: z.number().optional(),
  region: z.string().optional(),
  profile: z.string().optional(),
  name: z.string().default(defaultStackPrefix),
});
type CommonOptions = z.infer<typeof commonOptions>;

/** What differs when tests run the tool. */
export type Seams = Pick<KeyServiceOptions, 'afterStep' | 'clock' | 'waiting'> & {
  readonly localEndpoint?: string;
};

/**
 * Runs the tool once.
 *
 * @param args the arguments after the program's name
 * @returns the exit code, see `exitCodes`; 0 for success
 */
export async function runKeys(args: readonly string[], io: Io, seams: Seams = {}): Promise<number> {
  const output = new Output(io, args.includes('--json'));
  try {
    await programOf(io, seams, output).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    const isCommander = error instanceof CommanderError;
    // Help or the version.
    if (isCommander && error.exitCode === 0) return 0;
    const { kind, message } = isCommander ? invalidArguments(error) : explain(error, { stage: '' });
    output.report({ error: { code: kind, message } }, output.paint('red', message, io.stderr));
    return exitCodes[kind];
  }
}

/** An error of the argument parser as one line. */
function invalidArguments({ code, message }: CommanderError): KeyToolError {
  if (code === 'commander.help')
    return new KeyToolError('usage', 'Missing command. Run with --help to list commands.');
  const [, first = '', rest = ''] =
    /^(?:error: )?(.)(.*)$/s.exec(message.replaceAll(/\s+/g, ' ').trim()) ?? [];
  const line = first.toUpperCase() + rest;
  return new KeyToolError('usage', /[.)?]$/.test(line) ? line : `${line}.`);
}

function programOf(io: Io, seams: Seams, output: Output): CommanderCommand {
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync(packageFile, 'utf8')));
  const root = new CommanderCommand('npm run keys --')
    .description('Issues, shows and revokes the API keys of a stage.')
    .version(version, '--version', 'show the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText(
      'after',
      `
Examples:
  npm run keys -- create --stage local --owner "Ada Lovelace" --plan pro
  npm run keys -- list --stage prod --status suspended
  npm run keys -- rotate key_06fz1m4tqabcdefg --stage prod --overlap 24h
  npm run keys -- revoke key_06fz1m4tqabcdefg --stage prod

Exit codes: 0 done, 1 failed, 2 invalid arguments, 3 no such key or stack, 4 refused.
More in docs/keys.md.`,
    );
  for (const command of commands) root.addCommand(toCommander(command, io, seams, output));
  root
    .command('completion')
    .description('print a completion script: source <(animal-store-keys completion bash)')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .helpOption('-h, --help', 'show this help')
    .action((shell: (typeof shells)[number]) => {
      const script = completionScript(shell, root, program);
      io.stdout.write(`${output.json ? JSON.stringify({ script }) : script}\n`);
    });
  // Help goes where the rest goes, and `runKeys` prints errors.
  for (const command of [root, ...root.commands]) {
    command.exitOverride().configureOutput({
      writeOut: (text) => void io.stdout.write(redact(text)),
      // The help for a call without a command.
      writeErr: (text) => void (output.json || io.stderr.write(redact(text))),
      outputError: () => {},
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  }
  return root;
}

function toCommander(
  { name, summary, details, example, options = [], required = [], takesKeyId, asks, run }: Command,
  io: Io,
  seams: Seams,
  output: Output,
): CommanderCommand {
  const command = new CommanderCommand(name)
    .description(summary)
    .helpOption('-h, --help', 'show this help')
    .allowExcessArguments();
  if (takesKeyId) command.argument('[key-id]', 'ID of the key (required)').usage('<key-id> [options]');
  const mandatory = [...required, '--stage'];
  for (const option of [...options, ...common(asks)]) {
    if (mandatory.includes(option.long ?? '')) option.description += ' (required)';
    command.addOption(option);
  }
  command.addHelpText(
    'after',
    `${details ? `\n${details}\n` : ''}\nExample:\n  npm run keys -- ${name} ${example}`,
  );
  return command.action(async (first: unknown) => {
    const given = command.opts<Record<string, unknown>>();
    const keyId = takesKeyId && typeof first === 'string' ? first : '';
    const isMissing = (flag: string) => given[flag.replace('--', '')] === undefined;
    const missing = [...(takesKeyId && keyId === '' ? ['<key-id>'] : []), ...mandatory.filter(isMissing)];
    if (missing.length > 0) {
      // Without the double dash npm takes all options for itself.
      const hint = missing.includes('--stage') ? ' Options follow a double dash: npm run keys -- …' : '';
      throw new KeyToolError('usage', `Missing ${missing.join(', ')}.${hint}`);
    }
    const [extra] = command.args.slice(takesKeyId ? 1 : 0);
    if (extra !== undefined) throw new KeyToolError('usage', `Unexpected argument "${extra}".`);
    if (takesKeyId) checkKeyId(keyId);
    const all = commonOptions.parse(given);
    await inSession(io, seams, output, all, (session) => run(session, given, keyId));
  });
}

async function inSession(
  io: Io,
  seams: Seams,
  output: Output,
  { stage, port, region, profile, name, yes }: CommonOptions,
  act: (session: Session) => Promise<void>,
): Promise<void> {
  const isLocal = stage === localStage;
  if (!isLocal && port !== undefined) throw new KeyToolError('usage', `--port needs --stage ${localStage}.`);
  const endpoint = isLocal ? (seams.localEndpoint ?? (await localEndpoint(port))) : undefined;
  try {
    const service = await openKeyService({
      ...seams,
      stage,
      endpoint,
      region,
      profile,
      stackName: `${name}-${stage}`,
      onAudit: (line) => output.report(changeJson(line), changeText(line)),
      onProgress: (message) => output.note(message, 'dim'),
    });
    const input = () => {
      if (io.interactive) output.note('Paste the API key, then press Enter and Ctrl-D.');
      return readAll(io.stdin);
    };
    const confirm = (question: string) =>
      stage !== confirmedStage || yes ? Promise.resolve() : ask(io, question);
    await act({ service, output, confirm, input, stage });
  } catch (error) {
    throw explain(error, { stage, endpoint, region, profile });
  }
}

async function ask(io: Io, question: string): Promise<void> {
  if (!io.interactive)
    throw new KeyToolError('refused', 'This needs a confirmation. Run it in a terminal, or with --yes.');
  const readline = createInterface({ input: io.stdin, output: io.stderr });
  try {
    const answer = await readline.question(`${redact(question)} [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new KeyToolError('refused', 'Nothing was changed.');
  } finally {
    readline.close();
  }
}

function common(asks: boolean): Option[] {
  return [
    new Option('--stage <stage>', 'stage of the service').choices(stages),
    new Option('--json', 'print JSON'),
    ...(asks ? [new Option('-y, --yes', `do not ask for confirmation in ${confirmedStage}`)] : []),
    new Option('--port <n>', 'port of the local service (default: that of the last one)').argParser(
      wholeNumber(1, 65_535),
    ),
    new Option('--region <region>', 'AWS Region (default: AWS_REGION, or the one of the profile)'),
    new Option('--profile <profile>', 'profile of the AWS configuration (default: AWS_PROFILE)'),
    new Option('--name <name>', 'name of the copy, as given to the CDK app').default(defaultStackPrefix),
  ];
}
