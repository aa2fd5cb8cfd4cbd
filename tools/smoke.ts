import { Command } from 'commander';
import { z } from 'zod';
import { checks } from './smoke/checks.ts';
import { Client } from './smoke/client.ts';
import { describeFailure, runChecks } from './smoke/run.ts';

/** `npm run smoke -- --url URL --key KEY`: is the service at this address the one the interface describes? */
const command = new Command('npm run smoke --')
  .description('Checks a running service against the interface, from the outside.')
  .requiredOption('--url <url>', 'base address with the version segment, such as https://api.example.com/v1')
  .option('--key <key>', 'an API key with at least 60 requests a minute left (or the variable SMOKE_KEY)')
  .addHelpText(
    'after',
    '\nIt sends about 50 requests with the key, and some without, within a few seconds. It adds two animals that are' +
      '\nmarked as a smoke test and sold; a few more where the store holds hardly any.' +
      '\nExit code: 0 all checks held, 1 some did not, 2 the call is not right.',
  )
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .parse();

const { url, key = process.env['SMOKE_KEY'] } = z
  .object({ url: z.string(), key: z.string().optional() })
  .parse(command.opts());
if (!/^https?:\/\/[^?#]+\/v1\/?$/.test(url) || !URL.canParse(url))
  fail(
    `${url} is no base address: it is a URL that ends in the version segment, such as https://api.example.com/v1`,
  );
if (key === undefined) fail('An API key is needed: --key KEY, or the variable SMOKE_KEY');

const client = new Client(url, key);
const unreachable = await client
  .send({ path: '/pets', authorization: null })
  .then(() => undefined, describeFailure);
if (unreachable !== undefined) {
  console.error(`Nothing answers at ${url}: ${unreachable}. Does the service run, and is the address right?`);
  process.exit(1);
}
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
