import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, InvalidArgumentError } from '@commander-js/extra-typings';
import { stageOfKey } from '../../functions/access/keys.ts';
import { checks } from './checks.ts';
import { Client, isBaseUrl } from './client.ts';
import { requestsNeeded, runChecks, waitUntilReady } from './run.ts';

/** `npm run smoke -- --url URL`: checks that the service at an address behaves as the interface says. */
const { url, readOnly, wait } = new Command('npm run smoke --')
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
    (value) => {
      if (/^\d{1,4}$/.test(value)) return Number(value);
      throw new InvalidArgumentError('It must be a whole number from 0 to 9999.');
    },
    120,
  )
  .addHelpText(
    'after',
    `
The API key is read from the variable SMOKE_KEY, or from standard input:
  SMOKE_KEY=$KEY npm run smoke -- --url "$API"
It must have ${requestsNeeded} requests left in the current minute and day: a Free key has just enough.

It sends about 50 requests with the key, and some without, within a few seconds. Without --read-only it adds two
animals that are marked as a smoke test and sold, and a few more if the store holds fewer than six.
Exit code: 0 all checks held, 1 some did not, 2 invalid arguments.`,
  )
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .parse()
  .opts();

const client = new Client(url, await readKey(), { readOnly });
const readiness = await waitUntilReady(() => client.send({ path: '/pets?limit=1' }), {
  patience: wait * 1000,
  now: () => performance.now(),
  sleep,
  report: (line) => console.log(line),
});
if (readiness.kind === 'unreachable')
  end(1, `No response from ${url}: ${readiness.why}. Check the address, and that the service is running.`);
if (readiness.kind === 'rejected') end(1, `The API key cannot be used: ${readiness.why}.`);
if (readiness.kind === 'not-ready') console.log(`Not ready: ${readiness.why}. Running the checks anyway.`);
const results = await runChecks(checks, client);
for (const { name, milliseconds, outcome } of results) {
  if (outcome.kind === 'skipped') console.log(`- ${name} (skipped: ${outcome.why})`);
  else console.log(`${outcome.kind === 'passed' ? '✓' : '✗'} ${name} (${Math.round(milliseconds)} ms)`);
  if (outcome.kind === 'failed') console.log(`    ${outcome.why.replaceAll('\n', '\n    ')}`);
}
const count = (kind: string) => results.filter(({ outcome }) => outcome.kind === kind).length;
const skipped = count('skipped') === 0 ? '' : `, ${count('skipped')} skipped`;
console.log(
  `\n${count('passed')} passed, ${count('failed')} failed${skipped}, ${client.calls} requests sent to ${url}`,
);
process.exitCode = count('failed') === 0 ? 0 : 1;

/** Not an option, because other users of the machine see command lines, and npm writes them to its log files. */
async function readKey(): Promise<string> {
  const { SMOKE_KEY: variable = '' } = process.env;
  if (variable === '' && process.stdin.isTTY)
    end(2, 'The API key is missing. Set SMOKE_KEY, or pass the key on standard input.');
  const key = (variable === '' ? await text(process.stdin) : variable).trim();
  if (key === '') end(2, 'The API key is missing. Set SMOKE_KEY, or pass the key on standard input.');
  if (stageOfKey(key) === undefined)
    end(
      2,
      `The text in ${variable === '' ? 'standard input' : 'SMOKE_KEY'} is not an API key: its form or its checksum is wrong.`,
    );
  return key;
}

function end(code: number, message: string): never {
  console.error(message);
  process.exit(code);
}
