import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiKeys } from './api-keys.ts';
import { type DynamoDbLocal, startDynamoDbLocal } from './dynamodb.ts';
import { Gateway } from './gateway/gateway.ts';
import { readRestApi } from './gateway/rest-api.ts';
import { createTemplateKeys, readUsagePlans } from './gateway/usage-plans.ts';
import { startHttpServer } from './http-server.ts';
import { KeyFile, readKeyFile } from './key-file.ts';
import { type FunctionDefinition, Functions } from './lambda/definition.ts';
import { FunctionPool } from './lambda/pool.ts';
import { answerApiGateway } from './management/api-gateway.ts';
import { answerCloudFormation } from './management/cloud-formation.ts';
import { DynamoDbForwarder } from './management/dynamodb.ts';
import { answerLogs } from './management/logs.ts';
import { answerSts } from './management/sts.ts';
import { createTables } from './tables.ts';
import { readAssembly } from './template/assembly.ts';
import { region, Stack } from './template/stack.ts';

export interface LocalServiceOptions {
  /** What `cdk synth` wrote; it is not needed any longer once the service has started. */
  readonly assemblyDirectory: string;
  readonly stackName: string;
  /** Any free port when absent or 0. */
  readonly port?: number;
  /** Where tables and API keys are kept between runs. In memory when absent. */
  readonly dataDirectory?: string;
  /** A DynamoDB Local that runs already. When absent one is started, and ended with the service. */
  readonly dynamodbEndpoint?: string;
  /** Told what is going on, and what of the template is not done here; one line each. */
  readonly onProgress?: (message: string) => void;
  /** Gets what functions print, line by line. */
  readonly onLog?: (functionLogicalId: string, line: string) => void;
}

export interface LocalService {
  /** `http://127.0.0.1:PORT/STAGE` */
  readonly url: string;
  /** `http://127.0.0.1:PORT`: for the AWS SDK's clients of API Gateway, CloudFormation, DynamoDB, Logs and STS. */
  readonly endpoint: string;
  readonly dynamodbEndpoint: string;
  /** The stack's outputs; addresses of the API are those of this service. */
  readonly outputs: Readonly<Record<string, string>>;
  /** Ends everything that was started. May be called more than once. */
  stop(): Promise<void>;
}

/**
 * Serves a synthesized stack on this machine: its tables, functions, REST API and usage plans. Listens on the loopback
 * interface alone.
 *
 * @throws Error with one line that says what to do: the port is taken, Java is missing, the stack is not there or
 * uses what cannot be served
 */
export async function startLocalService(options: LocalServiceOptions): Promise<LocalService> {
  const started: (() => Promise<void>)[] = [];
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= undo(started));
  try {
    return { ...(await start(options, (undoing) => void started.push(undoing))), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function undo(started: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const undoing of started.toReversed()) await undoing().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw new AggregateError(failures, 'The local service did not stop cleanly');
}

async function start(
  options: LocalServiceOptions,
  onStop: (undoing: () => Promise<void>) => void,
): Promise<Omit<LocalService, 'stop'>> {
  const {
    assemblyDirectory,
    stackName,
    port = 0,
    dataDirectory,
    onProgress = () => {},
    onLog = () => {},
  } = options;
  const assembly = await readAssembly(assemblyDirectory, stackName);
  const stack = new Stack(stackName, assembly.template);

  const codeDirectory = await mkdtemp(join(tmpdir(), 'local-functions-'));
  onStop(() => rm(codeDirectory, { recursive: true, force: true }));
  const functions = new Functions(stack, assembly.assets, codeDirectory);
  const notes: string[] = [];
  const api = await readRestApi(stack, functions, notes);
  const plans = readUsagePlans(stack);

  const dynamodb = await openDynamoDb(options, onProgress);
  onStop(() => dynamodb.stop());
  onProgress('Making the tables');
  notes.push(...(await createTables(stack, region, dynamodb.endpoint)));

  if (dataDirectory !== undefined) await mkdir(dataDirectory, { recursive: true });
  const keys = new ApiKeys(plans, dataDirectory === undefined ? undefined : await readKeyFile(dataDirectory));
  createTemplateKeys(stack, keys, Date.now());
  const keyFile = dataDirectory === undefined ? undefined : new KeyFile(dataDirectory, () => keys.snapshot());
  const save = async (): Promise<void> => keyFile?.save();
  onStop(save);

  const pools = new Map<string, FunctionPool>();
  onStop(async () => void (await Promise.all([...pools.values()].map((pool) => pool.stop()))));
  const poolOf = (definition: FunctionDefinition): FunctionPool => {
    const { logicalId } = definition;
    const variables = { AWS_ENDPOINT_URL_DYNAMODB: dynamodb.endpoint };
    const pool =
      pools.get(logicalId) ?? new FunctionPool(definition, variables, (line) => onLog(logicalId, line));
    pools.set(logicalId, pool);
    return pool;
  };
  const gateway = new Gateway(api, keys, (definition, event, signal) =>
    poolOf(definition).invoke(event, signal),
  );

  const forwarder = new DynamoDbForwarder(dynamodb.endpoint);
  onStop(async () => forwarder.close());
  const createdAt = Date.now();
  const description = { name: stackName, id: stack.id, createdAt, outputs: {} as Record<string, string> };
  const keyState = {
    keys,
    restApiId: api.id,
    stage: api.stage,
    flushAuthorizerCache: () => gateway.flushAuthorizerCache(),
    save,
    now: Date.now,
  };
  const server = await startHttpServer(port, {
    stage: api.stage,
    gateway,
    services: {
      apigateway: (request) => answerApiGateway(keyState, request),
      cloudformation: (request) => answerCloudFormation(description, request),
      dynamodb: (request) => forwarder.answer(request),
      logs: (request) => answerLogs(onLog, request),
      sts: (request) => answerSts(request),
    },
    onFault: (error) => onProgress(`A fault of the local gateway: ${String(error)}`),
  });
  onStop(() => server.stop());

  const endpoint = `http://127.0.0.1:${server.port}`;
  const { values, unresolved } = stack.outputs();
  Object.assign(description.outputs, localAddresses(values, api.id, endpoint));
  notes.push(...functions.notes, ...unresolved.map((line) => `Output ${line}`), ...leftOut(stack));
  for (const note of notes) onProgress(note);
  return {
    url: `${endpoint}/${api.stage}`,
    endpoint,
    dynamodbEndpoint: dynamodb.endpoint,
    outputs: description.outputs,
  };
}

async function openDynamoDb(
  { dynamodbEndpoint, dataDirectory }: LocalServiceOptions,
  onProgress: (message: string) => void,
): Promise<DynamoDbLocal> {
  if (dynamodbEndpoint !== undefined) return { endpoint: dynamodbEndpoint, stop: async () => {} };
  onProgress('Starting DynamoDB Local');
  return startDynamoDbLocal(dataDirectory === undefined ? {} : { dataDirectory });
}

/** The address that AWS would give the API becomes the one it has here. */
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

/** Types that are served, and those whose absence changes nothing that a client or a function could notice. */
const servedTypes =
  /^AWS::(?:ApiGateway|CDK|CloudWatch|CodeDeploy|DynamoDB|IAM|Lambda|Logs|SNS|CloudFormation)::|^Custom::/;

function leftOut(stack: Stack): string[] {
  const types = [...stack.types].filter((type) => !servedTypes.test(type));
  return types.length === 0 ? [] : [`Not run here: ${types.join(', ')}`];
}
