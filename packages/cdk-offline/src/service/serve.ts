import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { AssemblyReader } from './assembly-reader.ts';
import { prepareDataDirectory } from '../system/data-directory.ts';
import { lockDirectory } from '../system/directory-lock.ts';
import { Database, type DatabaseAccess } from '../dynamodb/database.ts';
import { chooseDatabase, type DatabaseName } from '../dynamodb/engines.ts';
import { FunctionService } from '../lambda/function-service.ts';
import { InspectedProcess, inspectorPortInUse } from '../lambda/inspected-process.ts';
import { newCredentials } from '../management/credentials.ts';
import type { AssemblySource, OfflineService, Pages } from './types.ts';
import { isPortFree } from '../system/ports.ts';
import { HttpServer, portInUse } from '../http/server.ts';
import type { RequestRecord } from '../http/request-record.ts';
import { RunningStack } from './running-stack.ts';
import { temporaryDirectory, withFullFolder } from '../system/temporary-directory.ts';
import { KeyFile, readKeyFile } from '../usage-plans/key-file.ts';
import { ApiKeyStore } from '../usage-plans/store.ts';

export interface ServeOptions {
  readonly assembly: AssemblySource;
  /** The stack's artifact ID, its path as `cdk ls` shows it, or its name. The only stack with a REST API when absent. */
  readonly stack?: string | undefined;
  /** The logical ID or name of the REST API, for a stack with several. */
  readonly api?: string | undefined;
  /** Values for the template's parameters, in place of their defaults. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /** Environment variables for every function, in addition to the template's and in place of those with the same name. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Rejects a stack with routes that are not supported. When absent they answer 501. */
  readonly strict?: boolean | undefined;
  /** On 127.0.0.1. Any free port when absent or 0. */
  readonly port?: number | undefined;
  /** Keeps tables and API keys between runs. In memory when absent. */
  readonly dataDirectory?: string | undefined;
  /** For a stack with tables. When absent Dynoxide, or DynamoDB Local where Dynoxide is not installed. */
  readonly database?: DatabaseName | undefined;
  /** A running DynamoDB, called with the access key "local", in place of `database`. */
  readonly dynamodbEndpoint?: string | undefined;
  /** The stack has tables: the database is started while the assembly is written. */
  readonly hasTables?: boolean | undefined;
  /** The account's Lambda concurrency. Invocations beyond it are throttled at once. 100 when absent. */
  readonly concurrency?: number | undefined;
  /**
   * Runs all functions in one process under the Node.js inspector, without time-outs and one invocation at a time.
   * The port is on 127.0.0.1: 9229 when absent, any free one when 0.
   */
  readonly inspect?: { readonly port?: number | undefined } | undefined;
  /** Called with one line for each step, and for each unsupported part of the template. */
  readonly onProgress?: ((message: string) => void) | undefined;
  /** Called with the label of a function, or the name of a log group, and each line that is printed or written there. */
  readonly onLog?: ((label: string, line: string) => void) | undefined;
  /**
   * Pages by path, such as `/`, served for GET and HEAD outside the stage. Pages can be added while the service runs.
   */
  readonly pages?: Pages | undefined;
  /** Called once for each answered request. */
  readonly onRequest?: ((record: RequestRecord) => void) | undefined;
  /**
   * Called at most once, after the service has stopped because its in-memory database is lost. When absent the message
   * goes to `onProgress`.
   */
  readonly onFailure?: ((error: Error) => void) | undefined;
}

/** Functions share the processors: of 100 invocations of 200 ms the last one ends after 5 s on two processors. */
const defaultConcurrency = 100;
const defaultInspectorPort = 9229;

/**
 * Serves the REST API, authorizers, usage plans, functions and tables of a synthesized stack, on the loopback interface.
 *
 * @throws Error that says what to do: the port or data directory is in use, no database is installed, or the stack is missing or
 * not supported
 */
export async function serve(options: ServeOptions): Promise<OfflineService> {
  const steps = new StopSteps();
  try {
    return await start(options, steps);
  } catch (error) {
    // Before the files of the start are removed.
    const explained = withFullFolder(error);
    await steps.stop();
    throw explained;
  }
}

/** What has to be stopped, in the reverse order of its start. */
class StopSteps {
  readonly #steps: (() => Promise<void>)[] = [];
  #stopping: Promise<void> | undefined;

  add(step: () => Promise<void>): void {
    this.#steps.push(step);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const errors: unknown[] = [];
    for (const step of this.#steps.toReversed()) await step().catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw new AggregateError(errors, 'The service did not stop cleanly.');
  }
}

async function start(options: ServeOptions, steps: StopSteps): Promise<OfflineService> {
  const { port = 0, dataDirectory, onRequest, onProgress = () => {}, onLog = () => {} } = options;
  const { stack: stackId, api, parameters, strict, hasTables = false } = options;
  const stop = (): Promise<void> => steps.stop();
  if (port !== 0 && !(await isPortFree(port))) throw new Error(portInUse(port));
  const inspectorPort = options.inspect && (options.inspect.port ?? defaultInspectorPort);
  if (inspectorPort !== undefined && inspectorPort !== 0 && !(await isPortFree(inspectorPort))) {
    throw new Error(inspectorPortInUse(inspectorPort));
  }
  if (hasTables && options.dynamodbEndpoint === undefined) await chooseDatabase(options.database);
  if (dataDirectory !== undefined) {
    await prepareDataDirectory(dataDirectory);
    steps.add(await lockDirectory(dataDirectory));
  }
  const directory = temporaryDirectory();
  steps.add(directory.remove);
  // Functions do not take over the "type" of a package.json above the system's temporary folder.
  await writeFile(join(directory.path, 'package.json'), '{}');

  const assemblies = new AssemblyReader(stackId, { api, parameters, strict }, directory.path, onProgress);
  const database = databaseOf(options, directory.path, onProgress, stop);
  steps.add(() => database.stop());
  // Wait for both even if one fails: a database that is still starting cannot be stopped.
  const reading = assemblies.read(options.assembly);
  const opening = hasTables ? database.start() : Promise.resolve();
  await Promise.allSettled([reading, opening]);
  await opening;
  const deployment = await reading;

  const keys = new ApiKeyStore(dataDirectory === undefined ? undefined : await readKeyFile(dataDirectory));
  const keyFile = dataDirectory === undefined ? undefined : new KeyFile(dataDirectory, () => keys.snapshot());
  steps.add(async () => keyFile?.save());
  const inspected = inspectorPort === undefined ? undefined : new InspectedProcess(inspectorPort, onProgress);
  steps.add(async () => inspected?.stop());
  const inspectorUrl = await inspected?.url();

  // The port is known before the first function starts. Requests wait until the deployment is applied.
  const server = await HttpServer.listen(port);
  const { endpoint } = server;
  const credentials = newCredentials();
  const functions = new FunctionService({
    concurrency: options.concurrency ?? defaultConcurrency,
    codeDirectory: directory.path,
    inspected,
    // Every AWS service is local: this service answers for those that it does not have.
    variables: () => ({
      AWS_ENDPOINT_URL: endpoint,
      AWS_SESSION_TOKEN: credentials.sessionToken,
      ...databaseVariables(database.access),
      ...options.env,
    }),
    sdkFolders: [...(typeof options.assembly === 'string' ? [resolve(options.assembly)] : []), process.cwd()],
    onSdkUse: sdkReport(onProgress),
    onLog,
  });
  steps.add(() => functions.stop());
  steps.add(() => server.stop());
  const parts = { assemblies, database, functions, keys, keyFile, onProgress, onLog, onRequest, stop };
  const service = new RunningStack({ ...parts, endpoint, credentials, inspectorUrl });
  await service.apply(deployment);
  server.serve({
    gateway: () => service.gateway,
    services: service.services,
    sessionToken: credentials.sessionToken,
    pages: options.pages ?? new Map(),
    onRequest,
    onError: (error) => onProgress(`Error in cdk-offline: ${String(error)}`),
  });
  return service;
}

/** Says once for each folder of packages that functions get the AWS SDK from there. */
function sdkReport(onProgress: (message: string) => void): (path: string) => void {
  const reported = new Set<string>();
  return (path) => {
    const folder = path.slice(0, path.lastIndexOf('node_modules') + 'node_modules'.length);
    if (reported.has(folder)) return;
    reported.add(folder);
    onProgress(`The AWS SDK of the Lambda runtime is that of ${folder}`);
  };
}

function databaseOf(
  { database, dynamodbEndpoint, dataDirectory, onFailure }: ServeOptions,
  temporaryParent: string,
  onProgress: (message: string) => void,
  stop: () => Promise<void>,
): Database {
  return new Database({
    database,
    endpoint: dynamodbEndpoint,
    temporaryParent,
    dataDirectory: dataDirectory && join(dataDirectory, 'dynamodb'),
    onProgress,
    onLost: async (loss) => {
      await stop().catch(() => {});
      if (onFailure === undefined) onProgress(loss.message);
      else onFailure(loss);
    },
  });
}

/** Functions have no other use for an access key. */
function databaseVariables(access: DatabaseAccess | undefined): Record<string, string> {
  if (access === undefined) return {};
  const { endpoint, credentials } = access;
  return {
    AWS_ENDPOINT_URL_DYNAMODB: endpoint,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  };
}
