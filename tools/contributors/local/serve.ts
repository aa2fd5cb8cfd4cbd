import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ApiKeyStore, usagePlansOf } from './api-keys.ts';
import { callService } from './aws-services.ts';
import { chooseDatabase, type DatabaseName, engines } from './database-engines.ts';
import { type DatabaseAccess, startDatabase } from './database.ts';
import { prepareDataFolder, temporaryFolder, withFullDisk } from './folders.ts';
import { functionsOf } from './function-definitions.ts';
import { Functions } from './functions.ts';
import { Gateway, type RequestRecord } from './gateway.ts';
import { HttpServer, type Pages, portInUse } from './http-server.ts';
import { readGatewayKeys, writeGatewayKeys } from './keys.ts';
import { isPortFree } from './ports.ts';
import { localStackName, synthesizeLocal } from './stack.ts';
import { createTables, type TableDefinition, tablesOf } from './tables.ts';
import { region, Stack } from './template.ts';

/*
 * Starts the parts of the local service. A request passes them in this order:
 *
 *   http-server.ts    HTTP, and limits of what is under way
 *   gateway.ts        the route, the authorizer and its cache, the usage plan (api-keys.ts), the function's answer
 *   functions.ts      the execution environments of each function (environment.ts), in threads (function-runtime.ts)
 *   database.ts       Dynoxide or DynamoDB Local, behind a process of its own (database-keeper.ts)
 *
 * What they do is read from the template (template.ts). The calls of the key tool and other SDKs go to aws-services.ts.
 */

export interface ServeOptions {
  /** The folder that `synthesizeLocal` wrote, which is read only once. When absent, the stack is synthesized. */
  readonly assembly?: string | undefined;
  /** On 127.0.0.1. Any free port when absent or 0. */
  readonly port?: number | undefined;
  /** Keeps tables and API keys between runs. In memory when absent. */
  readonly dataDirectory?: string | undefined;
  /** When absent Dynoxide, or DynamoDB Local where Dynoxide is not installed. */
  readonly database?: DatabaseName | undefined;
  /** A running DynamoDB, called with the access key "local", in place of `database`. */
  readonly dynamodbEndpoint?: string | undefined;
  /**
   * Runs all functions in one process under the Node.js inspector, without time-outs and one invocation at a time.
   * The port is on 127.0.0.1, any free one when 0.
   */
  readonly inspect?: { readonly port: number } | undefined;
  /** Served for GET and HEAD outside the stage. Pages can be added while the service runs. */
  readonly pages?: Pages | undefined;
  /** Called with one line for each step. */
  readonly onProgress?: ((message: string) => void) | undefined;
  /** Called with the label of a function and each line that it prints. */
  readonly onLog?: ((label: string, line: string) => void) | undefined;
  /** Called once for each answered request. */
  readonly onRequest?: ((record: RequestRecord) => void) | undefined;
  /** Called at most once, after the service has stopped because its database is lost. When absent, the process ends. */
  readonly onFailure?: ((error: Error) => void) | undefined;
}

export interface LocalService {
  /** `http://127.0.0.1:PORT/STAGE` */
  readonly url: string;
  /** `http://127.0.0.1:PORT`, for SDK clients of API Gateway, CloudFormation and DynamoDB. */
  readonly endpoint: string;
  /** Those of this run, for SDK clients of `endpoint`, which refuses calls without its session token. */
  readonly credentials: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken: string;
  };
  readonly dynamodbEndpoint: string;
  /** The stack's outputs, with the local address of the API. */
  readonly outputs: Readonly<Record<string, string>>;
  readonly functions: Functions;
  /** Is removed when the service has ended. */
  readonly temporaryFolder: string;
  /**
   * Serves an assembly in place of the one before, whose tables stay. It replaces code set by `functions.replaceCode`.
   *
   * @param folder must stay as long as the service
   * @throws RestartNeeded; Error. The one before stays in use
   */
  update(folder: string): Promise<void>;
  /** Resolves when everything has ended. May be called more than once. */
  stop(): Promise<void>;
}

/** Changes that cannot be applied to a running service, one in each line. */
export class RestartNeeded extends Error {
  override readonly name = 'RestartNeeded';
}

/**
 * Serves the REST API, authorizer, usage plans, functions and tables of the local stage, on the loopback interface.
 *
 * @throws Error that says what to do: the port or data directory is in use, no database is installed, the app cannot be synthesized,
 * or the stack has what is not known here
 */
export async function serve(options: ServeOptions = {}): Promise<LocalService> {
  // Threads have the time zone of their process, and functions on Lambda that of UTC.
  process.env['TZ'] = 'UTC';
  /** What ends, in the reverse order of the start. */
  const started = new AsyncDisposableStack();
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= started.disposeAsync());
  try {
    return await start(options, started, stop);
  } catch (error) {
    // Before the files of the start are removed.
    const explained = withFullDisk(error, options.dataDirectory);
    await stop().catch(() => {});
    throw explained;
  }
}

async function start(
  options: ServeOptions,
  ending: AsyncDisposableStack,
  stop: () => Promise<void>,
): Promise<LocalService> {
  const { port = 0, dataDirectory, inspect, onRequest, onProgress = () => {}, onLog = () => {} } = options;
  if (port !== 0 && !(await isPortFree(port))) throw new Error(portInUse(port));
  if (inspect !== undefined && inspect.port !== 0 && !(await isPortFree(inspect.port)))
    throw new Error(inspectorPortInUse(inspect.port));
  const name = options.dynamodbEndpoint === undefined ? await chooseDatabase(options.database) : undefined;
  if (dataDirectory !== undefined) prepareDataFolder(dataDirectory);
  const folder = temporaryFolder();
  ending.defer(() => rmSync(folder, { recursive: true, force: true }));
  const keyFile = dataDirectory && join(dataDirectory, 'gateway-keys.json');
  const keys = new ApiKeyStore(readGatewayKeys(keyFile));
  const saveKeys = async (): Promise<void> => {
    if (keyFile !== undefined) writeGatewayKeys(keyFile, keys);
  };

  const openDatabase = async (): Promise<DatabaseAccess> => {
    const { dynamodbEndpoint: endpoint = '', onFailure = endProcess } = options;
    if (name === undefined)
      return { endpoint, credentials: { accessKeyId: 'local', secretAccessKey: 'local' } };
    onProgress(`Starting ${engines[name].label}`);
    const database = await startDatabase({
      database: name,
      dataFolder: dataDirectory && join(dataDirectory, 'dynamodb'),
      temporaryFolder: folder,
      onProgress,
      onLost: (loss) => void stop().finally(() => onFailure(loss)),
    });
    ending.defer(() => database.stop());
    return database;
  };
  const read = async (): Promise<Stack> => {
    const { assembly = join(folder, 'assembly') } = options;
    if (options.assembly === undefined) {
      onProgress('Synthesizing the stack');
      await synthesizeLocal(assembly);
    }
    return Stack.read(localStackName, assembly);
  };
  const [opening, reading] = [openDatabase(), read()];
  // It is reported below, or ends with this process when the database cannot be opened.
  reading.catch(() => {});
  // A database that is still starting cannot be stopped.
  const database = await opening;
  const stack = await reading;

  ending.defer(saveKeys);
  // The port is known before the first function starts. Requests wait until the stack is applied.
  const server = await HttpServer.listen(port);
  const { endpoint } = server;
  // A database can know its client by the access key ID.
  const credentials = { ...database.credentials, sessionToken: randomBytes(16).toString('hex') };
  // Every AWS service is local: this service answers for those that it does not have.
  const variables = {
    AWS_ENDPOINT_URL: endpoint,
    AWS_ENDPOINT_URL_DYNAMODB: database.endpoint,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_SESSION_TOKEN: credentials.sessionToken,
  };
  const functions = new Functions({ variables, onLog }, inspect?.port);
  ending.defer(() => functions.stop());
  ending.defer(() => server.stop());
  const apply = async (next: Stack, served?: Served): Promise<Served> => {
    const gateway = new Gateway({
      stack: next,
      keys,
      invoke: functions.invoke,
      onRequest,
      suspendTimeouts: inspect !== undefined,
    });
    const tables = tablesOf(next);
    if (served !== undefined) requireUpdatable(served, { gateway, tables });
    if ((await createTables(tables, database)) > 0) onProgress('Created the tables');
    const { apiId } = gateway.place;
    const local = (text: string) =>
      text.replaceAll(`https://${apiId}.execute-api.${region}.amazonaws.com`, endpoint);
    await functions.apply(functionsOf(next, local));
    keys.plans = usagePlansOf(next);
    await saveKeys();
    const outputs = Object.entries(next.outputs).map(([key, value]) => [key, local(value)]);
    return { gateway, tables, outputs: Object.fromEntries(outputs) as Record<string, string> };
  };
  let served = await apply(stack);
  // Node.js goes on without an inspector.
  if (inspect !== undefined && functions.inspectorUrl === undefined)
    throw new Error(inspectorPortInUse(inspect.port));

  server.serve({
    gateway: () => served.gateway,
    callService: (service, call) => {
      const { gateway, outputs } = served;
      const state = {
        stack: { name: localStackName, outputs },
        gateway,
        keys,
        saveKeys,
        database,
        credentials,
      };
      return callService(state, service, call);
    },
    pages: options.pages ?? new Map(),
    onRequest,
    onError: (error) => onProgress(`Error in the local service: ${String(error)}`),
  });
  return {
    url: `${endpoint}/${served.gateway.place.stage}`,
    endpoint,
    credentials,
    dynamodbEndpoint: database.endpoint,
    get outputs() {
      return served.outputs;
    },
    functions,
    temporaryFolder: folder,
    update: async (assembly) => {
      served = await apply(Stack.read(localStackName, assembly), served);
    },
    stop,
  };
}

/** What was made of a stack. */
interface Served {
  readonly gateway: Gateway;
  readonly tables: readonly TableDefinition[];
  readonly outputs: Readonly<Record<string, string>>;
}

/** @throws RestartNeeded naming the changes that need a restart */
function requireUpdatable(before: Served, next: Pick<Served, 'gateway' | 'tables'>): void {
  const redefined = next.tables.filter((table) => {
    const found = before.tables.find(({ input }) => input.TableName === table.input.TableName);
    return found !== undefined && !isDeepStrictEqual(found, table);
  });
  const changes = redefined.map(
    ({ input }) =>
      `The table ${input.TableName} is defined differently. Restart without its data to apply it.`,
  );
  const { apiId, stage } = before.gateway.place;
  if (next.gateway.place.apiId !== apiId || next.gateway.place.stage !== stage)
    changes.push('The API or its stage has another name. Restart to apply it.');
  if (changes.length > 0) throw new RestartNeeded(changes.join('\n'));
}

function inspectorPortInUse(port: number): string {
  return `Port ${port} for the debugger is in use. Stop the process that listens on it, or choose another one with --inspect=PORT.`;
}

function endProcess(error: Error): void {
  console.error(error.message);
  process.exit(1);
}
