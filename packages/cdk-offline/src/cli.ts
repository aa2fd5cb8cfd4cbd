#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { endWith } from './dev/lifetime.ts';
import { terminalLog } from './dev/log.ts';
import { synthesize } from './dev/synthesize.ts';
import { watch } from './dev/watch.ts';
import { serve } from './serve.ts';
import { version } from './version.ts';

const defaults = { assembly: 'cdk.out', port: '3000', inspect: '9229' };

const help = `Usage: cdk-offline [options]

Serves the REST API of a synthesized CDK stack on this machine, with its authorizers,
usage plans, functions and DynamoDB tables.

  --stack NAME        the stack's artifact ID, its path as "cdk ls" shows it, or its name
                      (default: the only one with a REST API)
  --assembly DIR      the folder that "cdk synth" wrote (default: ${defaults.assembly})
  --port N            port on 127.0.0.1, 0 for any free one (default: ${defaults.port})
  --api NAME          the API's logical ID or name, for a stack with several
  --env NAME=VALUE    environment variable for every function (repeatable)
  --parameter NAME=VALUE
                      value for a parameter of the template (repeatable)
  --strict            do not start when a route is not supported, instead of answering 501 for it
  --data DIR          keep tables and API keys there between runs, instead of in memory
  --inspect[=PORT]    let a debugger attach to the functions (default port: ${defaults.inspect})
  --watch DIR         when a file in DIR is saved, run the app of cdk.json and apply the result (repeatable)
  --quiet             print no requests, and only errors of functions
  --json-logs         print requests and function logs as lines of JSON
  --version           print the version
  -h, --help          print this help

Prints "ready URL" when it is ready. Press Ctrl-C to stop it.
`;

/** An invalid option. */
class UsageError extends Error {}

let stop = async (): Promise<void> => {};

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options === undefined) return;
  endWith(() => stop());
  const { quiet, json, folders, ...rest } = options;
  const service = await serve({
    ...rest,
    ...terminalLog({ quiet, json }),
    onProgress: (message) => console.error(message),
    onFailure: (error) => {
      console.error(error.message);
      process.exit(1);
    },
  });
  stop = () => service.stop();
  if (folders.length > 0)
    await watch(service, { folders, synthesize, onMessage: (message) => console.error(message) });
  if (service.inspectorUrl !== undefined) console.log(`inspector ${service.inspectorUrl}`);
  const { accessKeyId, secretAccessKey, sessionToken } = service.credentials;
  console.log(
    `credentials AWS_ACCESS_KEY_ID=${accessKeyId} AWS_SECRET_ACCESS_KEY=${secretAccessKey} AWS_SESSION_TOKEN=${sessionToken}`,
  );
  console.log(`ready ${service.url}`);
}

function readOptions(args: readonly string[]) {
  const { values } = parse(args.map((arg) => (arg === '--inspect' ? '--inspect=' : arg)));
  if (values.help === true || values.version === true) {
    process.stdout.write(values.version === true ? `${version}\n` : help);
    return undefined;
  }
  const {
    assembly,
    stack,
    api,
    strict,
    data: dataDirectory,
    inspect,
    watch: folders,
    quiet,
    'json-logs': json,
  } = values;
  return {
    assembly,
    stack,
    api,
    strict,
    env: pairs('--env', values.env),
    parameters: pairs('--parameter', values.parameter),
    port: port('--port', values.port),
    dataDirectory,
    inspect: inspect === undefined ? undefined : { port: port('--inspect', inspect || defaults.inspect) },
    folders,
    quiet,
    json,
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        assembly: { type: 'string', default: defaults.assembly },
        stack: { type: 'string' },
        port: { type: 'string', default: defaults.port },
        api: { type: 'string' },
        env: { type: 'string', multiple: true, default: [] },
        parameter: { type: 'string', multiple: true, default: [] },
        strict: { type: 'boolean', default: false },
        data: { type: 'string' },
        inspect: { type: 'string' },
        watch: { type: 'string', multiple: true, default: [] },
        quiet: { type: 'boolean', default: false },
        'json-logs': { type: 'boolean', default: false },
        version: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function pairs(option: string, texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const equals = text.indexOf('=');
      if (equals < 1) throw new UsageError(`${option} must be NAME=VALUE (got "${text}").`);
      return [text.slice(0, equals), text.slice(equals + 1)];
    }),
  );
}

function port(option: string, text: string): number {
  const value = Number(text);
  if (/^\d{1,5}$/.test(text) && value <= 65_535) return value;
  throw new UsageError(`${option} must be a whole number from 0 to 65535 (got "${text}").`);
}

try {
  await main();
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  console.error(error instanceof UsageError ? `${message} Run with --help to list the options.` : message);
  process.exit(error instanceof UsageError ? 2 : 1);
}
