import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Asset } from '../template/assembly.ts';
import { TemplateError } from '../template/intrinsics.ts';
import { arn, type Stack, type StackResource } from '../template/stack.ts';

/** A function of the template, ready to be run. */
export interface FunctionDefinition {
  readonly logicalId: string;
  readonly name: string;
  readonly arn: string;
  /** The folder that stands for /var/task. */
  readonly taskRoot: string;
  readonly handler: string;
  readonly runtime: string;
  readonly timeoutSeconds: number;
  readonly memoryMb: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly logFormat: 'JSON' | 'Text';
  readonly logLevel: LogLevel | undefined;
  readonly logGroupName: string;
  readonly reservedConcurrency: number | undefined;
}

const logLevel = z.enum(['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL']);
export type LogLevel = z.infer<typeof logLevel>;

/** Defaults are CloudFormation's. https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-lambda-function.html */
const properties = z.object({
  Code: z.object({
    S3Key: z.string().optional(),
    ZipFile: z.string().optional(),
    ImageUri: z.undefined({ error: 'Container images cannot be run here' }).optional(),
  }),
  Handler: z.string(),
  Runtime: z.string().regex(/^nodejs/, 'only Node.js functions can be run here'),
  Timeout: z.number().default(3),
  MemorySize: z.number().default(128),
  Environment: z
    .object({
      Variables: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String)),
    })
    .optional(),
  LoggingConfig: z
    .object({
      LogFormat: z.enum(['JSON', 'Text']).optional(),
      ApplicationLogLevel: logLevel.optional(),
      LogGroup: z.string().optional(),
    })
    .optional(),
  ReservedConcurrentExecutions: z.number().optional(),
  Layers: z.array(z.unknown()).optional(),
});

const permission = z.object({
  Action: z.string(),
  FunctionName: z.string(),
  Qualifier: z.string().optional(),
  Principal: z.string(),
});
const gatewayPrincipal = 'apigateway.amazonaws.com';

function functionArn(nameOrArn: string, qualifier?: string): string {
  const unqualified = nameOrArn.startsWith('arn:') ? nameOrArn : arn('lambda', `function:${nameOrArn}`);
  return qualifier === undefined ? unqualified : `${unqualified}:${qualifier}`;
}

/** The functions of a stack, found by the ARNs that integrations and authorizers name. */
export class Functions {
  readonly notes: string[] = [];
  readonly #stack: Stack;
  readonly #assets: ReadonlyMap<string, Asset>;
  readonly #directory: string;
  /** What API Gateway may invoke: ARNs of functions and aliases. To be let at one is not to be let at the other. */
  readonly #permitted: ReadonlySet<string>;
  readonly #loading = new Map<string, Promise<FunctionDefinition>>();
  readonly #copies = new Map<string, Promise<string>>();

  /**
   * @param directory where code is copied to: outside of any project, so that modules are found, and taken for ES
   * modules or not, as they are in Lambda
   */
  constructor(stack: Stack, assets: ReadonlyMap<string, Asset>, directory: string) {
    this.#stack = stack;
    this.#assets = assets;
    this.#directory = directory;
    this.#permitted = new Set(
      stack
        .resources('AWS::Lambda::Permission')
        .map((resource) => resource.read(permission))
        .filter(
          ({ Action, Principal }) => Action === 'lambda:InvokeFunction' && Principal === gatewayPrincipal,
        )
        .map(({ FunctionName, Qualifier }) => functionArn(FunctionName, Qualifier)),
    );
  }

  /**
   * The function that an integration's URI leads to, by way of an alias or version, too.
   *
   * @param uri `arn:aws:apigateway:REGION:lambda:path/2015-03-31/functions/FUNCTION_ARN/invocations`
   * @param credentials the role that API Gateway takes on for it; without one the function itself must permit the call
   * @throws TemplateError when the URI is of another kind, the function is not of this stack or cannot be run here, or
   * API Gateway may not invoke it
   */
  ofUri(uri: string, credentials: string | undefined): Promise<FunctionDefinition> {
    const target = /^arn:[^:]+:apigateway:[^:]+:lambda:path\/[\d-]+\/functions\/(.+)\/invocations$/.exec(
      uri,
    )?.[1];
    if (target === undefined) throw new TemplateError(`${uri} is not the URI of a function`);
    const name = /^arn:[^:]+:lambda:[^:]+:\d+:function:([^:]+)/.exec(target)?.[1];
    if (credentials === undefined && !this.#permitted.has(functionArn(target))) {
      throw new TemplateError(`No AWS::Lambda::Permission lets API Gateway invoke ${target}`);
    }
    const resource = this.#stack
      .resources('AWS::Lambda::Function')
      .find(({ physicalId }) => physicalId === (name ?? target));
    if (resource === undefined) throw new TemplateError(`There is no function ${target} in this stack`);
    const loading = this.#loading.get(resource.logicalId) ?? this.#load(resource);
    this.#loading.set(resource.logicalId, loading);
    return loading;
  }

  async #load(resource: StackResource): Promise<FunctionDefinition> {
    const { logicalId, physicalId: name } = resource;
    const { Code, LoggingConfig, Environment, ...settings } = resource.read(properties);
    if (settings.Layers !== undefined) this.notes.push(`${logicalId}: layers are not loaded here`);
    return {
      logicalId,
      name,
      arn: arn('lambda', `function:${name}`),
      taskRoot: await this.#code(logicalId, Code),
      handler: settings.Handler,
      runtime: settings.Runtime,
      timeoutSeconds: settings.Timeout,
      memoryMb: settings.MemorySize,
      environment: Environment?.Variables ?? {},
      logFormat: LoggingConfig?.LogFormat ?? 'Text',
      logLevel: LoggingConfig?.ApplicationLogLevel,
      logGroupName: LoggingConfig?.LogGroup ?? `/aws/lambda/${name}`,
      reservedConcurrency: settings.ReservedConcurrentExecutions,
    };
  }

  async #code(logicalId: string, { S3Key, ZipFile }: z.infer<typeof properties>['Code']): Promise<string> {
    if (ZipFile !== undefined) {
      const taskRoot = join(this.#directory, logicalId);
      await mkdir(taskRoot, { recursive: true });
      await writeFile(join(taskRoot, 'index.js'), ZipFile);
      return taskRoot;
    }
    const asset = this.#assets.get(S3Key ?? '');
    if (S3Key === undefined || asset === undefined) {
      throw new TemplateError(`${logicalId}: its code ${S3Key} is not among the stack's assets`);
    }
    if (asset.packaging !== 'zip')
      throw new TemplateError(`${logicalId}: its code must be a folder, not a zip file`);
    const copying = this.#copies.get(asset.path) ?? this.#copy(asset.path, S3Key);
    this.#copies.set(asset.path, copying);
    return copying;
  }

  async #copy(source: string, key: string): Promise<string> {
    const taskRoot = join(this.#directory, key.replace(/\.zip$/, ''));
    await cp(source, taskRoot, { recursive: true });
    return taskRoot;
  }
}
