import { accessSync, constants, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Command, Option } from '@commander-js/extra-typings';
import { exitCodes, ToolError } from '../../operators/command-line/errors.ts';
import { wholeNumber } from '../../operators/command-line/stage-command.ts';
import { databaseNames } from './database-engines.ts';

const inspectorPort = 9229;

/**
 * Ends the process with a message when the arguments are invalid, and after `--help`.
 *
 * @param args `start` or `dev`, then the options
 */
export function parseOptions([script, ...args]: readonly string[]) {
  const reload = script === 'dev';
  const call = reload ? 'npm run dev --' : 'npm start --';
  const inspect = new Option(
    '--inspect [port]',
    `let a debugger attach to the functions on 127.0.0.1 (default port ${inspectorPort})`,
  )
    .preset(String(inspectorPort))
    .argParser(wholeNumber(0, 65_535));
  const database = new Option(
    '--database <name>',
    'what serves the tables (default: the first that is installed)',
  ).choices(databaseNames);
  const command = new Command(call)
    .description(
      reload
        ? 'Runs the service on this machine and applies changes of functions/ and lib/ when a file is saved.'
        : 'Runs the service on this machine: the tables, the API gateway and the functions.',
    )
    .option('--port <n>', 'port on 127.0.0.1, 0 for any free one', wholeNumber(0, 65_535), 3000)
    .option('--animals <n>', 'how many animals to seed into an empty store', wholeNumber(0, 1_000_000), 25)
    .option('--keys-file <path>', 'write the seeded keys there, as JSON')
    .option('--data <folder>', 'keep animals and keys there between runs (in memory otherwise)')
    .option('--quiet', 'print no progress and no requests, only the address, the keys and errors')
    .option('--json-logs', 'print what the functions log as it is: one line of JSON each')
    .addOption(database)
    .addOption(inspect)
    .helpOption('-h, --help', 'show this')
    .allowExcessArguments()
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : exitCodes.usage))
    .parse(args, { from: 'user' });
  // Without the double dash npm reads the options itself and passes on only their values.
  if (command.args.length > 0) {
    command.error(
      `error: unexpected argument ${command.args.join(' ')}. Put options after a double dash, as in "${call} --port 8080"`,
    );
  }
  const { inspect: port, ...options } = command.opts();
  return { ...options, inspect: port === undefined ? undefined : { port }, reload };
}

/** Checks that the file can be written. */
export function checkFile(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) throw new Error('it is a folder');
  accessSync(found === undefined ? dirname(file) : file, constants.W_OK);
}

/** @throws ToolError that names the option whose path cannot be used */
export function forKeysFile(path: string, use: () => void): void {
  try {
    use();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `--keys-file ${path} cannot be used: ${reason}. Choose another path.`;
    throw new ToolError('usage', message, { cause: error });
  }
}
