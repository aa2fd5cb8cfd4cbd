import { access, constants, mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';

/** Options of `npm start` and `npm run dev`. */
export interface LocalOptions {
  readonly port: number;
  readonly animals: number;
  readonly keysFile?: string | undefined;
  readonly data?: string | undefined;
  readonly quiet: boolean;
  readonly jsonLogs: boolean;
  /** Runs the functions under the Node.js inspector. */
  readonly inspect?: { readonly port: number } | undefined;
}

const schema = z.object({
  port: z.number(),
  animals: z.number(),
  keysFile: z.string().optional(),
  data: z.string().optional(),
  quiet: z.boolean().default(false),
  jsonLogs: z.boolean().default(false),
  inspect: z.object({ port: z.number() }).optional(),
});

const inspectorPort = 9229;

/** Ends the process with a message when the arguments are invalid, and after `--help`. */
export function parseOptions(script: 'start' | 'dev', args: readonly string[]): LocalOptions {
  const call = script === 'start' ? 'npm start --' : 'npm run dev --';
  const command = new Command(call)
    .description(
      script === 'start'
        ? 'Runs the service on this machine: DynamoDB Local, the API gateway and the functions.'
        : 'Runs the service on this machine and applies changes of functions/ and lib/ when a file is saved.',
    )
    .option('--port <n>', 'port on 127.0.0.1, 0 for any free one', wholeNumber(0, 65_535), 3000)
    .option('--animals <n>', 'how many animals to seed into an empty store', wholeNumber(0, 1_000_000), 25)
    .option('--keys-file <path>', 'write the seeded keys there, as JSON')
    .option('--data <folder>', 'keep animals and keys there between runs (in memory otherwise)')
    .option('--quiet', 'print no progress and no requests, only the address, the keys and errors')
    .option('--json-logs', 'print what the functions log as it is: one line of JSON each')
    .helpOption('-h, --help', 'show this')
    .allowExcessArguments();
  if (script === 'dev') {
    command.option(
      '--inspect [port]',
      `let a debugger attach to the functions on 127.0.0.1 (default port ${inspectorPort})`,
      wholeNumber(0, 65_535),
    );
  }
  command.parse(args, { from: 'user' });
  // Without the double dash npm reads the options itself and passes on only their values.
  if (command.args.length > 0) {
    command.error(
      `error: unexpected argument ${command.args.join(' ')}. Put options after a double dash, as in "${call} --port 8080"`,
    );
  }
  const { inspect, ...options } = command.opts<{ inspect?: true | number }>();
  if (inspect === undefined) return schema.parse(options);
  return schema.parse({ ...options, inspect: { port: inspect === true ? inspectorPort : inspect } });
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

/**
 * Checks that the paths can be written, and creates the folder of --data.
 *
 * @throws Error that names the option
 */
export async function checkPaths({ data, keysFile }: LocalOptions): Promise<void> {
  if (data !== undefined) await forOption('--data', data, prepareFolder(resolve(data)));
  if (keysFile !== undefined) await forOption('--keys-file', keysFile, checkFile(resolve(keysFile)));
}

/** One folder at a time: on /proc, `mkdir` with `recursive` never returns. */
async function prepareFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch((error: unknown) => {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  });
  if (found === undefined) {
    await prepareFolder(dirname(folder));
    return mkdir(folder);
  }
  if (!found.isDirectory()) throw new Error(`${folder} is a file`);
  // For root `access` succeeds in every folder, also on a read-only file system.
  const probe = await mkdtemp(join(folder, '.check-')).catch((error: unknown) => {
    throw new Error(`${folder} is not writable`, { cause: error });
  });
  await rm(probe, { recursive: true });
}

async function checkFile(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory() === true) throw new Error('it is a folder');
  const target = found === undefined ? dirname(file) : file;
  await access(target, constants.W_OK).catch((error: unknown) => {
    const problem = isCode(error, 'ENOENT') ? 'does not exist' : 'is not writable';
    throw new Error(`${target} ${problem}`, { cause: error });
  });
}

/** @throws Error that names the option whose path cannot be used */
export async function forOption(option: string, path: string, use: Promise<unknown>): Promise<void> {
  try {
    await use;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${option} ${path} cannot be used: ${reason}. Choose another path.`, { cause: error });
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
