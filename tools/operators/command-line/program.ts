import { createInterface } from 'node:readline';
import { text as readAll } from 'node:stream/consumers';
import { Command, CommanderError, type CommandUnknownOpts } from '@commander-js/extra-typings';
import packageJson from '../../../package.json' with { type: 'json' };
import { type LocalAddress, readAddress } from './local-address.ts';
import { changeJson, changeText } from './audit.ts';
import type { Open } from './stage-command.ts';
import { exitCodeHelp, exitCodes, explain, type Target, ToolError, usageError } from './errors.ts';
import { type Io, Output, redact } from './output.ts';
import type { Hooks, StackOptions } from './stack.ts';

/** A tool of the operator. */
interface Tool<Service> {
  /** How it is called, such as `npm run keys --`. */
  readonly call: string;
  readonly summary: string;
  readonly help: string;
  /** What to do after Ctrl-C during a change. */
  readonly afterInterruption?: string;
  readonly commands: readonly ((open: Open<Service>) => CommandUnknownOpts)[];
  readonly openService: (options: StackOptions) => Promise<Service>;
}

/** What differs when tests run a tool. */
export type Seams = Hooks & { readonly local?: LocalAddress };

/** A run of a tool. Returns the exit code, see `exitCodes`; 0 for success. */
export type RunTool = (args: readonly string[], io: Io, seams?: Seams) => Promise<number>;

/** Runs a tool with the arguments and the terminal of this process. */
export async function runAsProcess(run: RunTool): Promise<void> {
  const { stdin, stdout, stderr } = process;
  // A reader that goes away is the business of whatever was being written, and must not end a change half way.
  for (const stream of [stdout, stderr]) stream.on('error', () => {});
  const interruption = new AbortController();
  process.once('SIGINT', () => interruption.abort());
  const io = { stdin, stdout, stderr, interactive: stdin.isTTY, interrupted: interruption.signal };
  process.exitCode = await run(process.argv.slice(2), io);
  if (interruption.signal.aborted) process.exit();
}

/** Returns the function that runs a tool. */
export function defineTool<Service extends { close(): void }>(tool: Tool<Service>): RunTool {
  return async (args, io, seams = {}) => {
    const output = new Output(io, args.includes('--json'));
    let target: Target | undefined;
    const open: Open<Service> = async ({ stage, port, region, profile, name, yes }, run) => {
      if (stage !== 'local' && port !== undefined) throw usageError('--port requires --stage local.');
      const found = port === undefined ? (seams.local ?? readAddress()) : readAddress(port);
      const local = found ?? { endpoint: `http://127.0.0.1:${port ?? 3000}` };
      target = stage === 'local' ? { stage, ...local } : { stage, region, profile };
      const service = await tool.openService({
        ...seams,
        ...target,
        stackName: `${name}-${stage}`,
        onChange: (change) => output.report(changeJson(change), changeText(change)),
        notify: (message) => output.note(message, 'yellow'),
      });
      try {
        await run({
          service,
          output,
          confirm: async (question) => {
            if (stage === 'prod' && !yes) await ask(io, `${stage}: ${question}`);
          },
          input: (prompt) => {
            if (io.interactive) output.note(prompt);
            return readAll(io.stdin);
          },
        });
      } finally {
        service.close();
      }
    };
    const program = programOf(tool, open, io, output);
    try {
      const parsed = program.parseAsync(withKnownCommand(args, program), { from: 'user' });
      await Promise.race([parsed, ...(io.interrupted ? [interruptionBy(io.interrupted, tool)] : [])]);
      return 0;
    } catch (error) {
      const isUsage = error instanceof CommanderError;
      if (isUsage && error.exitCode === 0) return 0; // help or the version
      const { kind, message } = isUsage ? explainUsage(error, program, tool.call) : explain(error, target);
      output.report({ error: { code: kind, message } }, message, 'red');
      return exitCodes[kind];
    }
  };
}

/** Rejects when the signal is aborted. What the command was doing is not waited for. */
function interruptionBy(
  signal: AbortSignal,
  {
    afterInterruption = 'What it was changing may be changed or not.',
  }: Pick<Tool<never>, 'afterInterruption'>,
): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      reject(new ToolError('interrupted', `Interrupted. ${afterInterruption}`));
    });
  });
}

/**
 * The arguments, or only the first one if it should be a command and is none: Commander would print the whole help for
 * `lsit --help` and `help lsit`, and suggests `list` for `lsit`.
 */
function withKnownCommand(args: readonly string[], { commands }: Command): readonly string[] {
  const [name = ''] = args[0] === 'help' ? args.slice(1) : args;
  const known = ['', 'help', '--help', '-h', '--version', ...commands.map((command) => command.name())];
  return known.includes(name) ? args : [name];
}

function programOf<Service>(
  { call, summary, help, commands }: Tool<Service>,
  open: Open<Service>,
  io: Io,
  output: Output,
): Command {
  const root = new Command(call)
    .description(summary)
    .version(packageJson.version, '--version', 'show the version')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', `\n${help}\n\n${exitCodeHelp}`);
  for (const command of commands) root.addCommand(command(open));
  for (const command of [root, ...root.commands])
    command
      .helpOption('-h, --help', 'show this help')
      .exitOverride()
      .configureOutput({
        writeOut: (text) => void io.stdout.write(redact(text)),
        // The help for a call without a command. `defineTool` prints errors.
        writeErr: (text) => void (output.json || io.stderr.write(redact(text))),
        outputError: () => {},
        getOutHasColors: () => false,
      });
  return root;
}

/** An error of the argument parser as one line. */
function explainUsage(
  { code, message }: CommanderError,
  { commands, args: [name] }: Command,
  call: string,
): ToolError {
  if (code === 'commander.help') return usageError('Missing command. Run with --help to list commands.');
  if (!/^commander\.missing(Mandatory|Argument)/.test(code)) {
    const text = message.slice('error: '.length).replaceAll(/\s+/g, ' ').trim();
    const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.)?]$/.test(text) ? '' : '.'}`;
    const isFirst = name === undefined || !commands.some((command) => command.name() === name);
    const advice =
      code === 'commander.unknownOption' && isFirst ? ` The command comes first: ${call} COMMAND …` : '';
    return usageError(
      code === 'commander.unknownCommand' && !text.includes('(Did')
        ? `${sentence} Run with --help to list commands.`
        : sentence + advice,
    );
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
  return usageError(`Missing ${missing.join(', ')}. Options follow a double dash: ${call} …`);
}

async function ask(io: Io, question: string): Promise<void> {
  if (!io.interactive)
    throw new ToolError('refused', 'This change must be confirmed. Run it in a terminal, or with --yes.');
  const readline = createInterface({ input: io.stdin, output: io.stderr });
  try {
    const answer = await new Promise<string>((resolve) => {
      readline.question(`${redact(question)} [y/N] `, resolve);
      // Ctrl-C, or Ctrl-D. The message gets a line of its own.
      readline.once('close', () => resolve('\n'));
    });
    if (answer === '\n') io.stderr.write(answer);
    if (!/^y(es)?$/i.test(answer.trim())) throw new ToolError('refused', 'Nothing was changed.');
  } finally {
    readline.close();
  }
}
