import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { prepareDataDirectory } from './data-directory.ts';
import { type Deployment, readDeployment, requireUpdatable } from './deployment.ts';
import { lockDirectory } from './directory-lock.ts';
import { requireJava } from './dynamodb/java.ts';
import { startDynamoDb } from './dynamodb/local.ts';
import { createTables } from './dynamodb/tables.ts';
import { Gateway, type RequestRecord } from './gateway/gateway.ts';
import type { FunctionDefinition } from './lambda/definition.ts';
import { FunctionService } from './lambda/function-service.ts';
import { InspectedProcess } from './lambda/inspected-process.ts';
import { answerApiGateway } from './management/api-gateway.ts';
import { forwardToDynamoDb } from './management/dynamodb.ts';
import { FaultInjector, type ManagementFaults } from './management/faults.ts';
import { answerLogs } from './management/logs.ts';
import { answerCloudFormation, answerSts } from './management/query-services.ts';
import { jsonError } from './management/responses.ts';
import { isPortFree } from './ports.ts';
import { type Pages, portInUse, startHttpServer } from './server.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { KeyFile, readKeyFile } from './usage-plans/key-file.ts';
import { ApiKeyStore } from './usage-plans/store.ts';
import { createTemplateKeys } from './usage-plans/template.ts';

/** The folder that `cdk synth` wrote, or a function that writes it into a new directory. It is read only once. */
type AssemblySource = string | ((directory: string) => Promise<void>);

export interface ServeOptions {
  readonly assembly: AssemblySource;
  readonly stack: string;
  /** On 127.0.0.1. Any free port when absent or 0. */
  readonly port?: number | undefined;
  /** Keeps tables and API keys between runs. In memory when absent. */
  readonly dataDirectory?: string | undefined;
  /** A running DynamoDB. When absent, DynamoDB Local is started for a stack with tables. */
  readonly dynamodbEndpoint?: string | undefined;
  /** The stack has tables: DynamoDB Local is started while the assembly is written. */
  readonly hasTables?: boolean | undefined;
  /** The account's Lambda concurrency. Invocations beyond it are throttled at once. 100 when absent. */
  readonly concurrency?: number | undefined;
  /**
   * Runs all functions in one process under the Node.js inspector, without time-outs and one invocation at a time.
   * The port is on 127.0.0.1: 9229 when absent, any free one when 0.
   */
  readonly inspect?: { readonly port?: number | undefined } | undefined;
  /** Injected errors of the API Gateway management API, for tests of tools. */
  readonly managementFaults?: ManagementFaults | undefined;
  /** Called with one line for each step, and for each unsupported part of the template. */
  readonly onProgress?: ((message: string) => void) | undefined;
  /** Called with each line that a function prints or that is written to CloudWatch Logs. */
  readonly onLog?: ((functionId: string, line: string) => void) | undefined;
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

/** A function that the API invokes. */
export type ServedFunction = Pick<FunctionDefinition, 'logicalId' | 'name' | 'constructPath' | 'handler'>;

export interface OfflineService {
  /** `http://127.0.0.1:PORT/STAGE` */
  readonly url: string;
  /** `http://127.0.0.1:PORT`, for SDK clients of API Gateway, CloudFormation, CloudWatch Logs, DynamoDB and STS. */
  readonly endpoint: string;
  /** `undefined` as long as the stack has no table. */
  readonly dynamodbEndpoint: string | undefined;
  /** The stack's outputs, with the local address of the API. */
  readonly outputs: Readonly<Record<string, string>>;
  /** The most recently invoked first. */
  readonly functions: readonly ServedFunction[];
  /** `ws://127.0.0.1:PORT/ID` when `inspect` is set. */
  readonly inspectorUrl: string | undefined;
  /**
   * Runs other code for a function from the next request on. Requests in progress finish on the old code.
   *
   * @param name the function's logical ID, name, construct path or handler
   * @param directory replaces the function's asset; it is copied
   * @throws FunctionLoadError when the code cannot be loaded; the old code stays in use
   */
  replaceCode(name: string, directory: string): Promise<void>;
  /**
   * Reads a new assembly of the stack and applies its routes, authorizers, gateway responses, functions, usage plans,
   * template keys, outputs and new tables. It replaces code set by `replaceCode`.
   *
   * @throws RestartNeeded when the stage or an existing table differs; FunctionLoadError; Error when the assembly cannot
   * be served. The old routes stay in use
   */
  update(change: { readonly assembly: AssemblySource }): Promise<void>;
  /** Replaces the injected errors of the management API; `{}` disables them. */
  injectManagementFaults(faults: ManagementFaults): void;
  /** Resolves when everything has ended. May be called more than once. */
  stop(): Promise<void>;
}

/** Functions share the processors: of 100 invocations of 200 ms the last one ends after 5 s on two processors. */
const defaultConcurrency = 100;
const defaultInspectorPort = 9229;

/**
 * Serves the REST API, authorizers, usage plans, functions and tables of a synthesized stack, on the loopback interface.
 *
 * @throws Error that says what to do: the port or data directory is in use, Java is missing, or the stack is missing or
 * not supported
 */
export async function serve(options: ServeOptions): Promise<OfflineService> {
  const started: (() => Promise<void>)[] = [];
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= stopAll(started));
  try {
    return await start(options, (step) => void started.push(step), stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function stopAll(started: readonly (() => Promise<void>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const step of started.toReversed()) await step().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw new AggregateError(errors, 'The service did not stop cleanly.');
}

async function start(
  options: ServeOptions,
  onStop: (step: () => Promise<void>) => void,
  stop: () => Promise<void>,
): Promise<OfflineService> {
  const { port = 0, dataDirectory, inspect, onRequest, onProgress = () => {}, onLog = () => {} } = options;
  const { onFailure = (error) => onProgress(error.message) } = options;
  if (port !== 0 && !(await isPortFree(port))) throw new Error(portInUse(port));
  if (options.hasTables === true) await requireJava();
  if (dataDirectory !== undefined) {
    await prepareDataDirectory(dataDirectory);
    onStop(await lockDirectory(dataDirectory));
  }
  const { path: codeDirectory, remove } = temporaryDirectory();
  onStop(remove);
  let reads = 0;
  const read = async (source: AssemblySource): Promise<Deployment> => {
    reads += 1;
    const copies = join(codeDirectory, String(reads));
    if (typeof source === 'string') return readDeployment(source, options.stack, copies);
    onProgress('Synthesizing the stack');
    const assembly = join(codeDirectory, 'assembly');
    await mkdir(assembly);
    try {
      await source(assembly);
      return await readDeployment(assembly, options.stack, copies);
    } finally {
      await rm(assembly, { recursive: true, force: true });
    }
  };

  let dynamodbEndpoint: string | undefined;
  const startDatabase = async (): Promise<string> => {
    onProgress('Starting DynamoDB Local');
    const dynamodb = await startDynamoDb({
      dataDirectory: dataDirectory && join(dataDirectory, 'dynamodb'),
      onProgress,
      onLost: async (loss) => {
        await stop().catch(() => {});
        onFailure(loss);
      },
    });
    onStop(() => dynamodb.stop());
    return dynamodb.endpoint;
  };
  const openTables = async ({ tables }: Deployment): Promise<void> => {
    if (tables.length === 0) return;
    dynamodbEndpoint ??= options.dynamodbEndpoint ?? (await startDatabase());
    onProgress('Creating the tables');
    await createTables(tables, dynamodbEndpoint);
  };
  const reading = read(options.assembly);
  if (options.hasTables === true && options.dynamodbEndpoint === undefined) {
    const starting = startDatabase();
    // Wait for both even if one fails: a database that is still starting cannot be stopped.
    await Promise.allSettled([starting, reading]);
    dynamodbEndpoint = await starting;
  }
  let deployment = await reading;
  await openTables(deployment);

  const keys = new ApiKeyStore(
    deployment.plans,
    dataDirectory === undefined ? undefined : await readKeyFile(dataDirectory),
  );
  createTemplateKeys(deployment.stack, keys, Date.now());
  const keyFile = dataDirectory === undefined ? undefined : new KeyFile(dataDirectory, () => keys.snapshot());
  const save = async (): Promise<void> => keyFile?.save();
  onStop(save);

  const inspected = inspect && new InspectedProcess(inspect.port ?? defaultInspectorPort, onProgress);
  if (inspected !== undefined) onStop(() => inspected.stop());
  const inspectorUrl = await inspected?.url();
  const functions = new FunctionService({
    concurrency: options.concurrency ?? defaultConcurrency,
    codeDirectory,
    inspected,
    variables: () => (dynamodbEndpoint === undefined ? {} : { AWS_ENDPOINT_URL_DYNAMODB: dynamodbEndpoint }),
    onLog,
  });
  onStop(() => functions.stop());
  await functions.apply(deployment.functions);
  const gatewayOf = ({ api }: Deployment): Gateway =>
    new Gateway({
      api,
      keys,
      invoke: (functionId, event, signal) => functions.invoke(functionId, event, signal),
      onRequest,
      suspendTimeouts: inspected !== undefined,
    });
  let gateway = gatewayOf(deployment);

  const faults = new FaultInjector();
  faults.set(options.managementFaults ?? {});
  let outputs: Record<string, string> = {};
  const createdAt = Date.now();
  const { id: stackId } = deployment.stack;
  const { id: restApiId, stage } = deployment.api;
  const flushAuthorizerCache = (): void => gateway.flushAuthorizerCache();
  const keyState = { keys, faults, restApiId, stage, flushAuthorizerCache, save, now: Date.now };
  const server = await startHttpServer(port, {
    gateway: () => gateway,
    services: {
      apigateway: (request) => answerApiGateway(keyState, request),
      cloudformation: (request) =>
        answerCloudFormation({ name: options.stack, id: stackId, createdAt, outputs }, request),
      dynamodb: (request) =>
        dynamodbEndpoint === undefined
          ? jsonError(400, 'ResourceNotFoundException', 'The stack has no table')
          : forwardToDynamoDb(dynamodbEndpoint, request),
      logs: (request) => answerLogs(onLog, request),
      sts: answerSts,
    },
    pages: options.pages ?? new Map(),
    onRequest,
    onError: (error) => onProgress(`Error in cdk-offline: ${String(error)}`),
  });
  onStop(() => server.stop());
  const endpoint = `http://127.0.0.1:${server.port}`;

  const describe = ({ stack, notes }: Deployment): void => {
    const { values, unresolved } = stack.outputs();
    outputs = localAddresses(values, restApiId, endpoint);
    for (const note of [...notes, ...unresolved.map((line) => `Output ${line}`)]) onProgress(note);
  };
  describe(deployment);

  const update = async (assembly: AssemblySource): Promise<void> => {
    const next = await read(assembly);
    requireUpdatable(deployment, next);
    await openTables(next);
    await functions.apply(next.functions);
    deployment = next;
    keys.setPlans(next.plans);
    createTemplateKeys(next.stack, keys, Date.now());
    await save();
    gateway = gatewayOf(next);
    describe(next);
  };
  let updating: Promise<void> = Promise.resolve();

  return {
    url: `${endpoint}/${stage}`,
    endpoint,
    inspectorUrl,
    get dynamodbEndpoint() {
      return dynamodbEndpoint;
    },
    get outputs() {
      return outputs;
    },
    get functions() {
      return functions.definitions.map(({ logicalId, name, constructPath, handler }) => ({
        logicalId,
        name,
        constructPath,
        handler,
      }));
    },
    replaceCode: (name, directory) => functions.replaceCode(name, directory),
    update: ({ assembly }) => {
      updating = updating.catch(() => {}).then(() => update(assembly));
      return updating;
    },
    injectManagementFaults: (next) => faults.set(next),
    stop,
  };
}

/** Replaces the API's address on AWS by its local address. */
function localAddresses(
  outputs: Readonly<Record<string, string>>,
  apiId: string,
  endpoint: string,
): Record<string, string> {
  const address = new RegExp(`https://${apiId}\\.execute-api\\.[\\w.-]+`, 'g');
  return Object.fromEntries(
    Object.entries(outputs).map(([name, value]) => [name, value.replaceAll(address, endpoint)]),
  );
}
