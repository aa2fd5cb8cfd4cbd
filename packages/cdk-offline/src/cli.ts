#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type OfflineService, serve } from './serve.ts';

const help = `Usage: cdk-offline --assembly DIR --stack NAME [options]

Serves the REST API of a synthesized CDK stack on this machine, with its authorizers,
usage plans, functions and DynamoDB tables.

  --assembly DIR      the folder that "cdk synth" wrote (default: cdk.out)
  --stack NAME        the stack's name (required)
  --port N            port on 127.0.0.1, 0 for any free one (default: 3000)
  --data DIR          keep tables and API keys there between runs (default: in memory)
  --inspect [PORT]    run functions under the Node.js inspector, given as --inspect or --inspect=PORT
  --quiet             do not print requests
  --version           print the version
  -h, --help          print this help

Prints "ready URL" when it is ready. Press Ctrl-C to stop it.
`;

const inspectFlag = /^--inspect$/;

/** An invalid option. */
class UsageError extends Error {}

let service: OfflineService | undefined;
let stopping = false;

async function stop(exitCode: number): Promise<void> {
  if (stopping) process.exit(130);
  stopping = true;
  await service?.stop();
  process.exit(exitCode);
}

/** Stops when the parent process, such as npm, ends. */
function endWithParent(): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) void stop(0);
  }, 1000).unref();
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options === undefined) return;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(0));
  endWithParent();
  const { quiet, ...rest } = options;
  service = await serve({
    ...rest,
    onProgress: (message) => console.error(message),
    onLog: (functionId, line) => console.error(`[${functionId}] ${line}`),
    onRequest: ({ time, method, path, status, durationMs }) => {
      if (quiet) return;
      console.log(`${new Date(time).toISOString()} ${method} ${path} ${status} ${durationMs.toFixed(0)} ms`);
    },
    onFailure: (error) => {
      console.error(error.message);
      process.exit(1);
    },
  });
  if (service.inspectorUrl !== undefined) console.log(`inspector ${service.inspectorUrl}`);
  console.log(`ready ${service.url}`);
}

function readOptions(args: readonly string[]) {
  const { values } = parse(args.map((arg) => (inspectFlag.test(arg) ? '--inspect=' : arg)));
  if (values.help === true || values.version === true) {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    process.stdout.write(values.version === true ? `${version}\n` : help);
    return undefined;
  }
  const { assembly, stack, data: dataDirectory, inspect, quiet } = values;
  if (stack === undefined) throw new UsageError('--stack NAME is required.');
  return {
    assembly,
    stack,
    port: port('--port', values.port),
    dataDirectory,
    inspect: inspect === undefined ? undefined : { port: port('--inspect', inspect || '9229') },
    quiet,
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        assembly: { type: 'string', default: 'cdk.out' },
        stack: { type: 'string' },
        port: { type: 'string', default: '3000' },
        data: { type: 'string' },
        inspect: { type: 'string' },
        quiet: { type: 'boolean', default: false },
        version: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function port(option: string, text: string): number {
  const value = Number(text);
  if (/^\d{1,5}$/.test(text) && value <= 65_535) return value;
  throw new UsageError(`${option} must be a whole number from 0 to 65535 (got "${text}").`);
}

try {
  await main();
} catch (error) {
  if (!stopping) {
    const message = error instanceof Error ? error.message : String(error);
    console.error(error instanceof UsageError ? `${message} Run with --help to list the options.` : message);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
