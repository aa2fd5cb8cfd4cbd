import { setTimeout as sleep } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { checks } from './smoke/checks.ts';
import { Client } from './smoke/client.ts';
import { waitUntilReady } from './smoke/ready.ts';
import { runChecks } from './smoke/run.ts';

/** `npm run smoke -- --url URL --key KEY`: checks that the service at an address behaves as the interface says. */
const command = new Command('npm run smoke --')
  .description('Checks a running service against the interface, from the outside.')
  .requiredOption('--url <url>', 'base address with the version segment, such as https://api.example.com/v1')
  .option('--key <key>', 'an API key with at least 60 requests a minute left (or the variable SMOKE_KEY)')
  .option(
    '--wait <seconds>',
    'how long to retry the first call until the deployment and the key are effective',
    parseSeconds,
    120,
  )
  .addHelpText(
    'after',
    '\nIt sends about 50 requests with the key, and some without, within a few seconds. It adds two animals that are' +
      '\nmarked as a smoke test and sold, and a few more if the store holds fewer than six.' +
      '\nExit code: 0 all checks held, 1 some did not, 2 invalid arguments.',
  )
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .parse();

const {
  url,
  key = process.env['SMOKE_KEY'],
  wait,
} = z.object({ url: z.string(), key: z.string().optional(), wait: z.number() }).parse(command.opts());
if (!/^https?:\/\/[^?#]+\/v1\/?$/.test(url) || !URL.canParse(url))
  fail(
    `--url must be a base address that ends in the version segment, such as https://api.example.com/v1 (got "${url}").`,
  );
if (key === undefined) fail('--key is required: pass --key KEY or set the variable SMOKE_KEY.');

const client = new Client(url, key);
const readiness = await waitUntilReady(() => client.send({ path: '/pets?limit=1' }), {
  patience: wait * 1000,
  now: () => performance.now(),
  sleep,
  report: (line) => console.log(line),
});
if (readiness.kind === 'unreachable') {
  console.error(
    `No response from ${url}: ${readiness.why}. Check the address, and that the service is running.`,
  );
  process.exit(1);
}
if (readiness.kind === 'not-ready') console.log(`Not ready: ${readiness.why}. Running the checks anyway.`);
const results = await runChecks(checks, client);
for (const { name, milliseconds, failure } of results) {
  console.log(`${failure === undefined ? '✓' : '✗'} ${name} (${Math.round(milliseconds)} ms)`);
  if (failure !== undefined) console.log(`    ${failure.replaceAll('\n', '\n    ')}`);
}
const failed = results.filter(({ failure }) => failure !== undefined).length;
console.log(`\n${results.length - failed} passed, ${failed} failed, ${client.calls} requests sent to ${url}`);
process.exitCode = failed === 0 ? 0 : 1;

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

function parseSeconds(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 0 to 9999.');
  return Number(text);
}
