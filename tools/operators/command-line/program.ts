import { constants } from 'node:os';
import { createInterface } from 'node:readline';
import { text as readAll } from 'node:stream/consumers';
import { Command, CommanderError, type CommandUnknownOpts } from '@commander-js/extra-typings';
import packageJson from '../../../package.json' with { type: 'json' };
import { changeJson, changeText } from './change.ts';
import { exitCodeHelp, exitCodes, explain, type Target, ToolError, usageError } from './errors.ts';
import { type LocalAddress, readAddress } from './local-address.ts';
import { type Io, Output, printable, redact } from './output.ts';
import { stackNameOf } from './project-file.ts';
import type { Hooks, StackOptions } from './stack.ts';
import type { Open } from './stage-command.ts';

/** What differs when tests run a tool. */
export type ToolHooks = Hooks & { readonly local?: LocalAddress };

/** A run of a tool. Returns the exit code, see `exitCodes`; 0 for success. */
export type RunTool = (args: readonly string[], io: Io, hooks?: ToolHooks) => Promise<number>;

/**
 * Milliseconds in which a second signal is the same Ctrl-C. A process group without a terminal gets the signal, and so does each process
 * in it from the one that started it, such as npm.
 */
const oneCtrlC = 1_000;

/** Runs a tool with the arguments and the terminal of this process. */
export async function runAsProcess(run: RunTool): Promise<void> {
  const { stdin, stdout, stderr } = process;
  // A reader that goes away is the business of whatever was being written, and must not end a change half way.
  for (const stream of [stdout, stderr]) stream.on('error', () => {});
  const interruption = new AbortController();
  let exitCode = 0;
  let interruptedAt = 0;
  const interrupt = (signal: 'SIGINT' | 'SIGTERM'): void => {
    if (interruption.signal.aborted) {
      // The second Ctrl-C waits for nothing.
      if (performance.now() - interruptedAt > oneCtrlC) process.exit(exitCode);
      return;
    }
    interruptedAt = performance.now();
    exitCode = 128 + constants.signals[signal];
    interruption.abort();
  };
  // SIGHUP is not one of them, because nohup ignores it, and without a terminal nobody reads what is printed.
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const each of signals) process.on(each, interrupt);
  const io = { stdin, stdout, stderr, interactive: stdin.isTTY, interrupted: interruption.signal };
  process.exitCode = await run(process.argv.slice(2), io);
  if (interruption.signal.aborted) process.exit(exitCode);
  for (const each of signals) process.off(each, interrupt);
}

/** A tool whose commands are about a stage. */
interface StageTool<Service> {
  /** How it is called. */
  readonly call: string;
  readonly description: string;
  /** Its page. */
  readonly guide: string;
  readonly afterInterruption: string;
  readonly commands: readonly ((open: Open<Service>) => CommandUnknownOpts)[];
  readonly openService: (options: StackOptions) => Promise<Service>;
}

/** Returns the function that runs a tool whose commands are about a stage. */
export function defineTool<Service extends { close(): void }>({
  call,
  description,
  guide,
  afterInterruption,
  commands,
  openService,
}: StageTool<Service>): RunTool {
  const help = `
"help COMMAND" shows the options of a command, and an example. More in ${guide}.

${exitCodeHelp}`;
  return async (args, io, hooks = {}) => {
    const program = new Command(call)
      .usage('<command> --stage <stage> [options]')
      .description(description)
      .addHelpText('after', help);
    const output = new Output(io, args.includes('--json'));
    let target: Target | undefined;
    let confirmed: string | undefined;
    let service: Service | undefined;
    let atInterruption = async (): Promise<void> => {};
    const open: Open<Service> = async ({ stage, port, region, profile, name, yes }) => {
      if (stage !== 'local' && port !== undefined) throw usageError('--port requires --stage local.');
      const found = port === undefined ? (hooks.local ?? readAddress()) : readAddress(port);
      const local = found ?? { endpoint: `http://127.0.0.1:${port ?? 3000}` };
      target = stage === 'local' ? { stage, ...local } : { stage, region, profile };
      service = await openService({
        ...hooks,
        ...target,
        stackName: stackNameOf(stage, name),
        onChange: (change) => output.report(changeJson(change), changeText(change)),
        notify: (message) => output.note(message, 'yellow'),
      });
      return {
        service,
        output,
        confirm: async (question) => {
          if (stage !== 'prod' || yes || question === confirmed) return;
          await ask(io, `${stage}: ${question}`);
          confirmed = question;
        },
        onInterruption: (end) => {
          atInterruption = end;
        },
        input: (prompt) => {
          if (io.interactive) output.note(prompt);
          return readAll(io.stdin);
        },
      };
    };
    for (const command of commands) program.addCommand(command(open));
    const exitCode = await runProgram(program, args, io, {
      output,
      explain: (error) => explain(error, target),
      atInterruption: () => atInterruption(),
      afterInterruption,
    });
    service?.close();
    return exitCode;
  };
}

/** A tool with one program, whose actions print by themselves. */
export function toolOf(program: CommandUnknownOpts): RunTool {
  return (args, io) => runProgram(program, args, io, { output: new Output(io, false) });
}

interface Running {
  readonly output: Output;
  readonly explain?: (error: unknown) => ToolError;
  /** What is done on Ctrl-C before the program ends. */
  readonly atInterruption?: () => Promise<void>;
  /** What a person can do after Ctrl-C during a change. */
  readonly afterInterruption?: string;
}

/** Runs a program, and prints its error as one line. Returns the exit code. */
export async function runProgram(
  program: CommandUnknownOpts,
  args: readonly string[],
  io: Io,
  { output, explain: explainError = explain, atInterruption, afterInterruption = '' }: Running,
): Promise<number> {
  program
    .version(packageJson.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(redact(text)),
      // This is the help for a call without a command. Errors are printed below.
      writeErr: (text) => void (output.json || io.stderr.write(redact(text))),
      outputError: () => {},
    });
  for (const command of program.commands) command.copyInheritedSettings(program);
  // What the command was doing is not waited for, except for what it does on Ctrl-C.
  const { promise: interruption, reject } = Promise.withResolvers<never>();
  const message = `Interrupted. ${afterInterruption}`.trim();
  const interrupt = () => {
    const end = () => reject(new ToolError('interrupted', message));
    void (atInterruption?.() ?? Promise.resolve()).then(end, end);
  };
  io.interrupted?.addEventListener('abort', interrupt);
  const running = program.parseAsync(args, { from: 'user' });
  try {
    await Promise.race([
      // After Ctrl-C, its end is that of the interruption.
      running.then(undefined, (error: unknown) =>
        io.interrupted?.aborted === true ? interruption : Promise.reject(error),
      ),
      interruption,
    ]);
    return 0;
  } catch (error) {
    const isUsage = error instanceof CommanderError;
    if (isUsage && error.exitCode === 0) return 0; // The help or the version was printed.
    const { kind, message: text } = isUsage ? explainUsage(error, program.name()) : explainError(error);
    output.report({ error: { code: kind, message: text } }, text, 'red');
    return exitCodes[kind];
  }
}

/** An error of the argument parser as one line. @param call how the program is called */
function explainUsage({ code, message }: CommanderError, call: string): ToolError {
  if (code === 'commander.help') return usageError('Missing command. See --help.');
  const text = message
    .replace(/^error: /, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.)?]$/.test(text) ? '' : '.'}`;
  // Without the double dash npm takes all options for itself.
  if (code.startsWith('commander.missing') && call.startsWith('npm '))
    return usageError(`${sentence} If you gave it: npm needs a double dash before all options (${call} …).`);
  if (redact(text) !== text)
    return usageError(
      `${sentence} An API key does not belong in a command line: "npm run keys -- identify" reads it from standard input.`,
    );
  const hasAdvice = !code.startsWith('commander.unknown') || text.endsWith('?)');
  return usageError(hasAdvice ? sentence : `${sentence} See --help.`);
}

async function ask(io: Io, question: string): Promise<void> {
  if (!io.interactive)
    throw new ToolError('refused', 'This change must be confirmed. Run it in a terminal, or with --yes.');
  const readline = createInterface({ input: io.stdin, output: io.stderr });
  try {
    const answer = await new Promise<string>((resolve) => {
      readline.question(`${printable(redact(question))} [y/N] `, resolve);
      // Ctrl-C and Ctrl-D close it. The message gets a line of its own.
      readline.once('close', () => resolve('\n'));
    });
    if (answer === '\n') io.stderr.write(answer);
    if (!/^y(es)?$/i.test(answer.trim())) throw new ToolError('refused', 'Nothing was changed.');
  } finally {
    readline.close();
  }
}
