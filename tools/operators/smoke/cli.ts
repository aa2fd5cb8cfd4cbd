import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { Command, InvalidArgumentError } from '@commander-js/extra-typings';
import { stageOfKey } from '../../../functions/access/keys.ts';
import { ToolError, usageError } from '../command-line/errors.ts';
import { type Io, Output } from '../command-line/output.ts';
import { runProgram } from '../command-line/program.ts';
import { wholeNumber } from '../command-line/stage-command.ts';
import { checks } from './checks.ts';
import { Client, isBaseUrl } from './client.ts';
import { requestsNeeded, runChecks, waitUntilReady } from './run.ts';

const help = `
The API key is read from the variable SMOKE_KEY, or from standard input:
  SMOKE_KEY=$KEY npm run smoke -- --url "$API"
It must have ${requestsNeeded} requests left in the current minute and day: a Free key has just enough.

It sends about 50 requests with the key, and some without, within a few seconds. Without --read-only it adds two
animals that are marked as a smoke test and sold, and a few more if the store holds fewer than six.
Exit code: 0 all checks held, 1 some did not, 2 invalid arguments.`;

const newProgram = () =>
  new Command('npm run smoke --')
    .description('Checks a running service against the interface, from the outside.')
    .requiredOption('--url <url>', 'base address such as https://api.example.com/v1', (value) => {
      if (isBaseUrl(value)) return value;
      throw new InvalidArgumentError('It must be a base address that ends in the version segment /v1.');
    })
    .option(
      '--read-only',
      'add no animals: checks that need some are skipped where the store has too few',
      false,
    )
    .option(
      '--wait <seconds>',
      'how long to retry the first call until the deployment is effective',
      wholeNumber(0, 9_999),
      120,
    )
    .addHelpText('after', help);

/** The variable of the environment, and what tests replace. */
interface SmokeSettings {
  /** SMOKE_KEY */
  readonly variable?: string | undefined;
  readonly sleep?: (milliseconds: number) => Promise<unknown>;
}

/** Checks that the service at an address behaves as the interface says. Returns the exit code. */
export function runSmoke(args: readonly string[], io: Io, settings: SmokeSettings): Promise<number> {
  const program = newProgram();
  program.action((options) => smoke(options, io, settings));
  return runProgram(program, args, io, { output: new Output(io, false) });
}

async function smoke(
  { url, readOnly, wait }: ReturnType<ReturnType<typeof newProgram>['opts']>,
  io: Io,
  { sleep = setTimeout, ...settings }: SmokeSettings,
): Promise<void> {
  const print = (line: string) => void io.stdout.write(`${line}\n`);
  const client = new Client(url, await readKey(io, settings), { readOnly });
  const waiting = { patience: wait * 1000, now: () => performance.now(), sleep, report: print };
  const readiness = await waitUntilReady(() => client.send({ path: '/pets?limit=1' }), waiting);
  if (readiness.kind === 'unreachable') {
    const advice = 'Check the address, and that the service is running.';
    throw new ToolError('failed', `No response from ${url}: ${readiness.why}. ${advice}`);
  }
  if (readiness.kind === 'rejected')
    throw new ToolError('failed', `The API key cannot be used: ${readiness.why}.`);
  if (readiness.kind === 'used-up')
    throw new ToolError('failed', `The API key is accepted, but ${readiness.why}.`);
  if (readiness.kind === 'not-ready') print(`Not ready: ${readiness.why}. Running the checks anyway.`);
  const results = await runChecks(checks, client);
  for (const { name, milliseconds, outcome } of results) {
    if (outcome.kind === 'skipped') print(`- ${name} (skipped: ${outcome.why})`);
    else print(`${outcome.kind === 'passed' ? '✓' : '✗'} ${name} (${Math.round(milliseconds)} ms)`);
    if (outcome.kind === 'failed') print(`    ${outcome.why.replaceAll('\n', '\n    ')}`);
  }
  const count = (kind: string) => results.filter(({ outcome }) => outcome.kind === kind).length;
  const skipped = count('skipped') === 0 ? '' : `, ${count('skipped')} skipped`;
  const sent = `${client.calls} requests sent to ${url}`;
  const summary = `${count('passed')} passed, ${count('failed')} failed${skipped}, ${sent}`;
  print('');
  if (count('failed') > 0) throw new ToolError('failed', summary);
  print(summary);
}

/** Not an option, because other users of the machine see command lines, and npm writes them to its log files. */
async function readKey({ stdin, interactive }: Io, { variable = '' }: SmokeSettings): Promise<string> {
  const key = (variable !== '' ? variable : interactive ? '' : await text(stdin)).trim();
  if (key === '')
    throw usageError('The API key is missing. Set SMOKE_KEY, or pass the key on standard input.');
  if (stageOfKey(key) !== undefined) return key;
  const source = variable === '' ? 'standard input' : 'SMOKE_KEY';
  throw usageError(`The text in ${source} is not an API key: its form or its checksum is wrong.`);
}
