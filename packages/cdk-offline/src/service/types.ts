import type { DynamoDbCredentials } from '../dynamodb/credentials.ts';
import type { ManagementCredentials } from '../management/credentials.ts';

/**
 * The folder that `cdk synth` wrote, or a function that writes it into a new directory or returns another one. It is read
 * only once.
 */
export type AssemblySource = string | ((directory: string) => Promise<void | string>);

/** Static content by its path. */
export type Pages = ReadonlyMap<string, { readonly type: string; readonly body: string | Uint8Array }>;

/** A function that the API invokes. */
export interface ServedFunction {
  readonly logicalId: string;
  /** Its name in messages and for `onLog`, such as `get-thing`. */
  readonly label: string;
  readonly name: string;
  /** The `aws:cdk:path` of the resource, such as `Stack/Things/List/Resource`. */
  readonly constructPath: string | undefined;
  readonly handler: string;
  /** The folder with its code: a copy of the asset, in which the paths of source maps are absolute. */
  readonly directory: string;
  /** The asset: a folder or zip file of the app or of the assembly. */
  readonly source: string;
}

export interface OfflineService {
  /** `http://127.0.0.1:PORT/STAGE` */
  readonly url: string;
  /** `http://127.0.0.1:PORT`, for SDK clients of API Gateway, CloudFormation, CloudWatch Logs, DynamoDB and STS. */
  readonly endpoint: string;
  /** Those of this run, for SDK clients of `endpoint`, which refuses calls without its session token. */
  readonly credentials: ManagementCredentials;
  /** `undefined` as long as the stack has no table. */
  readonly dynamodbEndpoint: string | undefined;
  /** With DynamoDB Local the only ones that see the tables at `dynamodbEndpoint`. Dynoxide accepts any. */
  readonly dynamodbCredentials: DynamoDbCredentials | undefined;
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
  /** Resolves when everything has ended. May be called more than once. */
  stop(): Promise<void>;
}
