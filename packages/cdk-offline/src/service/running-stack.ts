import { type StackDefinition, requireUpdatable } from './stack-definition.ts';
import type { AssemblyReader } from './assembly-reader.ts';
import type { DynamoDbCredentials } from '../dynamodb/credentials.ts';
import type { Database } from '../dynamodb/database.ts';
import { Gateway } from '../gateway/gateway.ts';
import type { FunctionService } from '../lambda/function-service.ts';
import { answerApiGateway } from '../management/api-gateway.ts';
import { forwardToDynamoDb } from '../management/dynamodb.ts';
import { answerLogs } from '../management/logs.ts';
import { answerCloudFormation, answerSts } from '../management/query-services.ts';
import { jsonError, type ManagementRequest } from '../management/answers.ts';
import type { ManagementCredentials } from '../management/credentials.ts';
import type { Services } from '../management/services.ts';
import type { AssemblySource, OfflineService, ServedFunction } from './types.ts';
import type { RequestRecord } from '../http/request-record.ts';
import type { KeyFile } from '../usage-plans/key-file.ts';
import type { ApiKeyStore } from '../usage-plans/store.ts';
import { createTemplateKeys } from '../usage-plans/from-template.ts';

export interface RunningStackParts {
  /** `http://127.0.0.1:PORT` */
  readonly endpoint: string;
  readonly credentials: ManagementCredentials;
  readonly inspectorUrl: string | undefined;
  readonly assemblies: AssemblyReader;
  readonly database: Database;
  readonly functions: FunctionService;
  readonly keys: ApiKeyStore;
  readonly keyFile: KeyFile | undefined;
  readonly onProgress: (message: string) => void;
  readonly onLog: (label: string, line: string) => void;
  readonly onRequest: ((record: RequestRecord) => void) | undefined;
  readonly stop: () => Promise<void>;
}

/** The deployment that is served, and what was made for it. */
interface Served {
  readonly deployment: StackDefinition;
  readonly gateway: Gateway;
  readonly outputs: Readonly<Record<string, string>>;
}

/** Serves one deployment at a time: requests, functions, tables, API keys and the management operations. */
export class RunningStack implements OfflineService {
  readonly #parts: RunningStackParts;
  readonly #createdAt = Date.now();
  #served: Served | undefined;
  #updating: Promise<void> = Promise.resolve();

  constructor(parts: RunningStackParts) {
    this.#parts = parts;
  }

  /**
   * Serves a deployment in place of the one before.
   *
   * @throws RestartNeeded; FunctionLoadError; Error when a table cannot be created. The one before stays in use
   */
  async apply(deployment: StackDefinition): Promise<void> {
    const { database, functions, keys, onProgress } = this.#parts;
    const { api, stack, stacksOfApi, tables, needsDatabase, plans, notes } = deployment;
    if (this.#served !== undefined) requireUpdatable(this.#served.deployment, deployment);
    if (needsDatabase) await database.start();
    await database.createTables(tables);
    const local = (values: Readonly<Record<string, string>>) => localAddresses(values, api.id, this.endpoint);
    await functions.apply(
      deployment.functions.map((one) => ({ ...one, environment: local(one.environment) })),
    );
    keys.setPlans(plans);
    const generated = createTemplateKeys(stacksOfApi, keys, Date.now());
    await this.#saveKeys();
    const { values, unresolved } = stack.outputs();
    this.#served = { deployment, gateway: this.#gatewayOf(deployment), outputs: local(values) };
    for (const note of [...notes, ...generated, ...unresolved.map((line) => `Output ${line}`)])
      onProgress(note);
  }

  get url(): string {
    return `${this.endpoint}/${this.gateway.stage}`;
  }

  get endpoint(): string {
    return this.#parts.endpoint;
  }

  get credentials(): ManagementCredentials {
    return this.#parts.credentials;
  }

  get inspectorUrl(): string | undefined {
    return this.#parts.inspectorUrl;
  }

  get dynamodbEndpoint(): string | undefined {
    return this.#parts.database.access?.endpoint;
  }

  get dynamodbCredentials(): DynamoDbCredentials | undefined {
    return this.#parts.database.access?.credentials;
  }

  get outputs(): Readonly<Record<string, string>> {
    return this.#current.outputs;
  }

  get functions(): ServedFunction[] {
    return this.#parts.functions.definitions.map(
      ({ logicalId, label, name, constructPath, handler, taskRoot: directory, source }) => ({
        logicalId,
        label,
        name,
        constructPath,
        handler,
        directory,
        source,
      }),
    );
  }

  get gateway(): Gateway {
    return this.#current.gateway;
  }

  /** The AWS services that SDK clients of `endpoint` can call. */
  get services(): Services {
    const { onLog, database } = this.#parts;
    return {
      apigateway: (request) => this.#answerApiGateway(request),
      cloudformation: (request) => answerCloudFormation(this.#describeStack(), request),
      dynamodb: (request) =>
        database.access === undefined
          ? jsonError(400, 'ResourceNotFoundException', 'The stack has no table')
          : forwardToDynamoDb(database.access, request),
      logs: (request) => answerLogs(onLog, request),
      sts: answerSts,
    };
  }

  replaceCode(name: string, directory: string): Promise<void> {
    return this.#parts.functions.replaceCode(name, directory);
  }

  update({ assembly }: { readonly assembly: AssemblySource }): Promise<void> {
    const update = async (): Promise<void> => this.apply(await this.#parts.assemblies.read(assembly));
    this.#updating = this.#updating.catch(() => {}).then(update);
    return this.#updating;
  }

  stop(): Promise<void> {
    return this.#parts.stop();
  }

  get #current(): Served {
    if (this.#served === undefined) throw new Error('No deployment was applied.');
    return this.#served;
  }

  #gatewayOf({ api }: StackDefinition): Gateway {
    const { functions, keys, onRequest, inspectorUrl } = this.#parts;
    return new Gateway({
      api,
      keys,
      invoke: (functionId, input, signal) => functions.invoke(functionId, input, signal),
      onRequest,
      suspendTimeouts: inspectorUrl !== undefined,
    });
  }

  #answerApiGateway(request: ManagementRequest) {
    const { gateway, deployment } = this.#current;
    const state = {
      keys: this.#parts.keys,
      restApiId: deployment.api.id,
      stage: deployment.api.stage,
      flushAuthorizerCache: () => gateway.flushAuthorizerCache(),
      save: () => this.#saveKeys(),
    };
    return answerApiGateway(state, request);
  }

  #describeStack() {
    const { deployment, outputs } = this.#current;
    return { name: deployment.stack.name, id: deployment.stack.id, createdAt: this.#createdAt, outputs };
  }

  async #saveKeys(): Promise<void> {
    await this.#parts.keyFile?.save();
  }
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
