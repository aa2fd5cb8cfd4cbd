import { createInterface } from 'node:readline/promises';
import { text as readAll } from 'node:stream/consumers';
import { Argument, Command, CommanderError } from '@commander-js/extra-typings';
import packageJson from '../../package.json' with { type: 'json' };
import { readAddress } from '../local/address-file.ts';
import type { Open } from './command.ts';
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
import { exitCodes, explain, KeyToolError, type Target, usageError } from './errors.ts';
import { type Io, Output, redact } from './output.ts';
import type { Hooks } from './changes.ts';
import { openKeyService } from './service.ts';
import { changeJson, changeText } from './views.ts';

const changing = [create, rotate, revoke, suspend, resume, changePlan, cleanup, repair];
const reading = [list, show, usage, identify];

/** What differs when tests run the tool. */
export type Seams = Hooks & { readonly localEndpoint?: string };

/** Runs the tool once. Returns the exit code, see `exitCodes`; 0 for success. */
export async function runKeys(args: readonly string[], io: Io, seams: Seams = {}): Promise<number> {
  const output = new Output(io, args.includes('--json'));
  let target: Target | undefined;
  const open: Open = async ({ stage, port, region, profile, name, yes }, run) => {
    if (stage !== 'local' && port !== undefined) throw usageError('--port requires --stage local.');
    const address = port === undefined ? (seams.localEndpoint ?? readAddress()) : undefined;
    const endpoint = address ?? `http://127.0.0.1:${port ?? 3000}`;
    target = stage === 'local' ? { stage, endpoint } : { stage, region, profile };
    const service = await openKeyService({
      ...seams,
      ...target,
      stackName: `${name}-${stage}`,
      onChange: (change) => output.report(changeJson(change), changeText(change)),
      notify: (message) => output.note(message, 'yellow'),
    });
    await run({
      service,
      output,
      confirm: async (question) => {
        if (stage === 'prod' && !yes) await ask(io, `${stage}: ${question}`);
      },
      input: () => {
        if (io.interactive) output.note('Paste the API key, then press Enter and Ctrl-D.');
        return readAll(io.stdin);
      },
    });
  };
  const program = programOf(open, io, output);
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    const isUsage = error instanceof CommanderError;
    if (isUsage && error.exitCode === 0) return 0; // help or the version
    const { kind, message } = isUsage ? explainUsage(error, program) : explain(error, target);
    output.report({ error: { code: kind, message } }, message, 'red');
    return exitCodes[kind];
  }
}

function programOf(open: Open, io: Io, output: Output): Command {
  const root = new Command('npm run keys --')
    .description('Issues, shows and revokes the API keys of a stage.')
    .version(packageJson.version, '--version', 'show the version')
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
  for (const command of [...changing, ...reading]) root.addCommand(command(open));
  root
    .command('completion')
    .description('print a completion script: source <(animal-store-keys completion bash)')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .action((shell) => void io.stdout.write(`${completionScript(shell, root)}\n`));
  for (const command of [root, ...root.commands])
    command
      .helpOption('-h, --help', 'show this help')
      .exitOverride()
      .configureOutput({
        writeOut: (text) => void io.stdout.write(redact(text)),
        // The help for a call without a command. `runKeys` prints errors.
        writeErr: (text) => void (output.json || io.stderr.write(redact(text))),
        outputError: () => {},
        getOutHasColors: () => false,
      });
  return root;
}

/** An error of the argument parser as one line. */
function explainUsage({ code, message }: CommanderError, { commands, args: [name] }: Command): KeyToolError {
  if (code === 'commander.help') return usageError('Missing command. Run with --help to list commands.');
  if (!/^commander\.missing(Mandatory|Argument)/.test(code)) {
    const text = message.slice('error: '.length).replaceAll(/\s+/g, ' ').trim();
    return usageError(`${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.)?]$/.test(text) ? '' : '.'}`);
  }
  // Commander's own error names only the first one.
  const command = commands.find((each) => each.name() === name)!;
  const given = command.args.filter((arg) => !arg.startsWith('-')).length;
  const missing = [
    ...command.registeredArguments.slice(given).map((argument) => `<${argument.name()}>`),
    ...command.options.flatMap((option) =>
      option.mandatory && command.getOptionValue(option.attributeName()) === undefined ? [option.long] : [],
    ),
  ];
  // Without the double dash npm takes all options for itself.
  return usageError(`Missing ${missing.join(', ')}. Options follow a double dash: npm run keys -- …`);
}

async function ask(io: Io, question: string): Promise<void> {
  if (!io.interactive)
    throw new KeyToolError('refused', 'This change must be confirmed. Run it in a terminal, or with --yes.');
  const readline = createInterface({ input: io.stdin, output: io.stderr });
  try {
    const answer = await readline.question(`${redact(question)} [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new KeyToolError('refused', 'Nothing was changed.');
  } finally {
    readline.close();
  }
}
