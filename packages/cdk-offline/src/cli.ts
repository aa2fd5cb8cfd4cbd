#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { endWith } from './dev/lifetime.ts';
import { terminalLog } from './dev/log.ts';
import { CdkApp } from './dev/cdk-app.ts';
import { plainFolders } from './dev/plain-folders.ts';
import { watch, type WatchOptions } from './dev/watch.ts';
import { type DatabaseName, databaseNames } from './dynamodb/engines.ts';
import { serve } from './service/serve.ts';
import { version } from './version.ts';

const defaults = { assembly: 'cdk.out', port: '3000', inspect: '9229' };
const print = (message: string): void => console.error(message);

const help = `Usage: cdk-offline [options]

Serves the REST API of a synthesized CDK stack on this machine, with its authorizers,
usage plans, functions and DynamoDB tables.

  --stack NAME        the stack's artifact ID, its path as "cdk ls" shows it, or its name
                      (default: the only one with a REST API)
  --assembly DIR      the folder that "cdk synth" wrote (default: ${defaults.assembly}, synthesized
                      first when the app of cdk.json is newer)
  --port N            port on 127.0.0.1, 0 for any free one (default: ${defaults.port})
  --api NAME          the API's logical ID or name, for a stack with several
  --env NAME=VALUE    environment variable for every function (repeatable)
  --parameter NAME=VALUE
                      value for a parameter of the template (repeatable)
  --strict            do not start when a route is not supported, instead of answering 501 for it
  --database NAME     ${databaseNames.join(' or ')}, for a stack with tables (default: the first
                      of them that is installed)
  --data DIR          keep tables and API keys there between runs, instead of in memory
  --inspect[=PORT]    let a debugger attach to the functions (default port: ${defaults.inspect})
  --watch[=DIR]       synthesize the app of cdk.json first, and apply what is saved: in DIR (repeatable),
                      else in what "watch" of cdk.json includes
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
  const { quiet, json, folders, assembly: given, ...rest } = options;
  const app = await CdkApp.in(process.cwd());
  const assembly = given ?? app?.output ?? defaults.assembly;
  if (given === undefined && app === undefined && !existsSync(assembly)) {
    throw new Error(
      `${process.cwd()} has no cdk.json and no ${assembly}. Start cdk-offline in the folder of the cdk.json, or give --assembly DIR.`,
    );
  }
  const isWatching = folders !== undefined;
  if (isWatching && app?.command === undefined) {
    throw new Error(`--watch needs the cdk.json of an app, and ${process.cwd()} has none.`);
  }
  const synthesize = async (): Promise<string> => {
    await app?.synthesize(assembly, !isWatching);
    return assembly;
  };
  const since = Date.now();
  const isOutdated = isWatching || (given === undefined && (await isOlder(assembly, app)));
  const service = await serve({
    ...rest,
    assembly: isOutdated ? synthesize : assembly,
    ...terminalLog({ quiet, json }),
    onProgress: print,
    onFailure: (error) => {
      console.error(error.message);
      process.exit(1);
    },
  });
  stop = () => service.stop();
  if (isWatching && app !== undefined) {
    const bundled = await functionBuilds(app);
    await watch(service, {
      folders: folders.length > 0 ? folders : [app.folder],
      isIgnored: folders.length > 0 ? undefined : (path, isFile) => app.isIgnored(path, isFile),
      since,
      synthesize,
      functions: async (served) => {
        const builds = await plainFolders(resolve(assembly), bundled)(served);
        print(
          `Watching: ${builds.count} of ${served.functions.length} functions are built without a synthesis.`,
        );
        return builds;
      },
      onMessage: print,
    });
  }
  if (service.inspectorUrl !== undefined) console.log(`inspector ${service.inspectorUrl}`);
  const { accessKeyId, secretAccessKey, sessionToken } = service.credentials;
  console.log(
    `credentials AWS_ACCESS_KEY_ID=${accessKeyId} AWS_SECRET_ACCESS_KEY=${secretAccessKey} AWS_SESSION_TOKEN=${sessionToken}`,
  );
  console.log(`ready ${service.url}`);
}

/** Whether the app has to be synthesized. It says why. */
async function isOlder(assembly: string, app: CdkApp | undefined): Promise<boolean> {
  if (app?.command === undefined) return false;
  const newer = await app.newerThan(assembly);
  if (newer === undefined) return false;
  print(
    newer === relative(app.folder, assembly)
      ? `${newer} does not exist`
      : `${relative(app.folder, assembly)} is older than ${newer}`,
  );
  return true;
}

/** Builds functions with esbuild as the CDK did, when esbuild is installed. */
async function functionBuilds(app: CdkApp): Promise<WatchOptions['functions']> {
  try {
    const [{ buildFunctions }, { cdkBundles }] = await Promise.all([
      import('./dev/esbuild.ts'),
      import('./dev/cdk-bundles.ts'),
    ]);
    return buildFunctions({ app: app.entry, bundle: cdkBundles(() => app.bundles) });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
    print(
      'esbuild is not installed beside cdk-offline, so that changes of bundled functions are synthesized.',
    );
    return undefined;
  }
}

function readOptions(args: readonly string[]) {
  const { values } = parse(withValues(args));
  if (values.help === true || values.version === true) {
    process.stdout.write(values.version === true ? `${version}\n` : help);
    return undefined;
  }
  const {
    assembly,
    stack,
    api,
    strict,
    database,
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
    database: databaseOf(database),
    dataDirectory,
    inspect: inspect === undefined ? undefined : { port: port('--inspect', inspect || defaults.inspect) },
    folders: folders?.filter((folder) => folder !== ''),
    quiet,
    json,
  };
}

/** An option whose value may be absent gets an empty one. */
function withValues(args: readonly string[]): string[] {
  return args.map((arg, index) => {
    const isLast = args[index + 1]?.startsWith('-') !== false;
    return arg === '--inspect' || (arg === '--watch' && isLast) ? `${arg}=` : arg;
  });
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        assembly: { type: 'string' },
        stack: { type: 'string' },
        port: { type: 'string', default: defaults.port },
        api: { type: 'string' },
        env: { type: 'string', multiple: true, default: [] },
        parameter: { type: 'string', multiple: true, default: [] },
        strict: { type: 'boolean', default: false },
        database: { type: 'string' },
        data: { type: 'string' },
        inspect: { type: 'string' },
        watch: { type: 'string', multiple: true },
        quiet: { type: 'boolean', default: false },
        'json-logs': { type: 'boolean', default: false },
        version: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new UsageError(message.endsWith('.') ? message : `${message}.`);
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

function databaseOf(text: string | undefined): DatabaseName | undefined {
  const name = databaseNames.find((each) => each === text);
  if (name !== undefined || text === undefined) return name;
  throw new UsageError(`--database must be ${databaseNames.join(' or ')} (got "${text}").`);
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
