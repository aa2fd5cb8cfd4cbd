import { text as readAll } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { Command, InvalidArgumentError } from '@commander-js/extra-typings';
import { stageOfKey } from '../../../functions/access/keys.ts';
import { ToolError, usageError } from '../command-line/errors.ts';
import { type Io, Output } from '../command-line/output.ts';
import { runProgram } from '../command-line/program.ts';
import { wholeNumber } from '../command-line/stage-command.ts';
import { type Check, checks, SkippedCheck } from './smoke-checks.ts';
import { Client, get } from './client.ts';
import { failureText, requestsNeeded, waitUntilReady } from './wait-until-ready.ts';

const help = `
The API key is read from the variable SMOKE_KEY, or from standard input:
  SMOKE_KEY=$KEY npm run smoke -- --url "$API"
It must have ${requestsNeeded} requests left in the current minute and day: a Free key has enough.

It sends about 45 requests with the key, and some without, within a few seconds. Without --read-only it adds two
animals that are marked as a smoke test and sold, and a few more if the store holds fewer than six.
Exit code: 0 all checks held, 1 some did not, 2 invalid arguments.`;

/**
 * Checks that the service at an address behaves as the interface says. Returns the exit code.
 *
 * @param variable SMOKE_KEY of the environment
 */
export function runSmoke(args: readonly string[], io: Io, variable?: string): Promise<number> {
  const output = new Output(io, false);
  const print = (line: string) => output.result(line, line);
  const program = new Command('npm run smoke --')
    .description('Checks a running service against the interface, from the outside.')
    .requiredOption('--url <url>', 'base address such as https://api.example.com/v1', baseUrl)
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
    .addHelpText('after', help)
    .action(async ({ url, readOnly, wait }) => {
      const client = new Client(url, await readKey(io, variable), { readOnly });
      await waitUntilReady(() => client.send(get('/pets?limit=1')), {
        patience: wait * 1000,
        now: () => performance.now(),
        sleep: setTimeout,
        report: print,
      });
      await report(client, print);
    });
  return runProgram(program, args, io, { output });
}

function baseUrl(text: string): string {
  if (/^https?:\/\/[^?#]+\/v1\/?$/.test(text) && URL.canParse(text)) return text;
  throw new InvalidArgumentError('It must be a base address that ends in the version segment /v1.');
}

/** Runs the checks, and prints a line for each. @throws ToolError if one fails */
async function report(client: Client, print: (line: string) => void): Promise<void> {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for await (const { name, outcome, why, milliseconds } of runChecks(checks, client)) {
    counts[outcome] += 1;
    if (outcome === 'skipped') print(`- ${name} (skipped: ${why})`);
    else print(`${outcome === 'passed' ? '✓' : '✗'} ${name} (${Math.round(milliseconds)} ms)`);
    if (outcome === 'failed') for (const line of why.split('\n')) print(`    ${line}`);
  }
  const skipped = counts.skipped === 0 ? '' : `, ${counts.skipped} skipped`;
  const sent = `${client.calls} requests sent to ${client.baseUrl}`;
  const summary = `${counts.passed} passed, ${counts.failed} failed${skipped}, ${sent}`;
  print('');
  if (counts.failed > 0) throw new ToolError('failed', summary);
  print(summary);
}

/** Runs the checks one after another, so that a burst does not exceed the limit per minute. */
export async function* runChecks(all: Readonly<Record<string, Check>>, client: Client) {
  for (const [name, check] of Object.entries(all)) {
    const startedAt = performance.now();
    const ended = await check(client).then(
      () => ({ outcome: 'passed', why: '' }) as const,
      (error: unknown) => {
        const outcome = error instanceof SkippedCheck ? 'skipped' : 'failed';
        return { outcome, why: failureText(error) } as const;
      },
    );
    yield { name, ...ended, milliseconds: performance.now() - startedAt };
  }
}

/** Reads the API key. It is no option, because other users of the machine see command lines, and npm writes them to its log files. */
async function readKey({ stdin, interactive }: Io, variable = ''): Promise<string> {
  const key = (variable !== '' ? variable : interactive ? '' : await readAll(stdin)).trim();
  if (key === '')
    throw usageError('The API key is missing. Set SMOKE_KEY, or pass the key on standard input.');
  if (stageOfKey(key) !== undefined) return key;
  const source = variable === '' ? 'standard input' : 'SMOKE_KEY';
  throw usageError(`The text in ${source} is not an API key: its form or its checksum is wrong.`);
}
