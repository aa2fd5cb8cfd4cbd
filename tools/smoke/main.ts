import { setTimeout as sleep } from 'node:timers/promises';
import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { checks } from './checks.ts';
import { Client } from './client.ts';
import { runChecks, waitUntilReady } from './run.ts';

/** `npm run smoke -- --url URL --key KEY`: checks that the service at an address behaves as the interface says. */
const { url, key, wait } = new Command('npm run smoke --')
  .description('Checks a running service against the interface, from the outside.')
  .requiredOption('--url <url>', 'base address such as https://api.example.com/v1', (text) => {
    if (/^https?:\/\/[^?#]+\/v1\/?$/.test(text) && URL.canParse(text)) return text;
    throw new InvalidArgumentError('It must be a base address that ends in the version segment /v1.');
  })
  .addOption(
    new Option('--key <key>', 'an API key with at least 60 requests a minute left')
      .env('SMOKE_KEY')
      .makeOptionMandatory(),
  )
  .option(
    '--wait <seconds>',
    'how long to retry the first call until the deployment and the key are effective',
    (text) => {
      if (/^\d{1,4}$/.test(text)) return Number(text);
      throw new InvalidArgumentError('It must be a whole number from 0 to 9999.');
    },
    120,
  )
  .addHelpText(
    'after',
    `
It sends about 50 requests with the key, and some without, within a few seconds. It adds two animals that are
marked as a smoke test and sold, and a few more if the store holds fewer than six.
Exit code: 0 all checks held, 1 some did not, 2 invalid arguments.`,
  )
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .parse()
  .opts();

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
