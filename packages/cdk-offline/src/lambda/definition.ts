import { join } from 'node:path';
import { z } from 'zod';
import { functionArn } from '../aws.ts';
import type { Asset } from '../template/assembly.ts';
import { TemplateError } from '../template/intrinsics.ts';
import { scalar, unsupported } from '../template/schema.ts';
import type { Stack, StackResource } from '../template/stack.ts';
import { copyCode } from './code.ts';

/** A function of the template, ready to run. */
export interface FunctionDefinition {
  readonly logicalId: string;
  readonly name: string;
  readonly arn: string;
  /** The `aws:cdk:path` of the resource, such as `Stack/Things/List/Resource`. */
  readonly constructPath: string | undefined;
  /** Identifies the code: functions with the same one run the same code. */
  readonly codeId: string;
  /** The folder used as /var/task. */
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
    ZipFile: unsupported('inline code is'),
    ImageUri: unsupported('container images are'),
  }),
  Handler: z.string(),
  Runtime: z.string().regex(/^nodejs/, 'only Node.js functions are supported by cdk-offline'),
  Timeout: z.number().default(3),
  MemorySize: z.number().default(128),
  Environment: z.object({ Variables: z.record(z.string(), scalar) }).optional(),
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

/** The functions of a stack by the URIs of integrations and authorizers. */
export class Functions {
  readonly notes: string[] = [];
  readonly #stack: Stack;
  readonly #assets: ReadonlyMap<string, Asset>;
  readonly #directory: string;
  /** The functions and aliases that API Gateway may invoke. A function's permission does not cover its aliases. */
  readonly #permitted: ReadonlySet<string>;
  readonly #loading = new Map<string, Promise<FunctionDefinition>>();
  readonly #copies = new Map<string, Promise<string>>();

  /**
   * @param directory where code is copied to. Outside any project, so that modules are resolved and interpreted as on
   * Lambda
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
   * The function that an integration's URI names, directly or by an alias or version.
   *
   * @param uri `arn:aws:apigateway:REGION:lambda:path/2015-03-31/functions/FUNCTION_ARN/invocations`
   * @param credentials the role that API Gateway assumes; without one the function needs a resource-based permission
   * @throws TemplateError when the function is not in this stack, not supported, or may not be invoked by API Gateway
   */
  ofUri(uri: string, credentials: string | undefined): Promise<FunctionDefinition> {
    const target = /^arn:[^:]+:apigateway:[^:]+:lambda:path\/[\d-]+\/functions\/(.+)\/invocations$/.exec(
      uri,
    )?.[1];
    if (target === undefined) throw new TemplateError(`${uri} is not the URI of a Lambda function`);
    const name = /^arn:[^:]+:lambda:[^:]+:\d+:function:([^:]+)/.exec(target)?.[1];
    if (credentials === undefined && !this.#permitted.has(functionArn(target))) {
      throw new TemplateError(`No AWS::Lambda::Permission lets API Gateway invoke ${target}`);
    }
    const resource = this.#stack
      .resources('AWS::Lambda::Function')
      .find(({ physicalId }) => physicalId === (name ?? target));
    if (resource === undefined) throw new TemplateError(`The stack has no function ${target}`);
    const loading = this.#loading.get(resource.logicalId) ?? this.#load(resource);
    this.#loading.set(resource.logicalId, loading);
    return loading;
  }

  /** Every function that `ofUri` returned. */
  loaded(): Promise<FunctionDefinition[]> {
    return Promise.all(this.#loading.values());
  }

  async #load(resource: StackResource): Promise<FunctionDefinition> {
    const { logicalId, physicalId: name, constructPath } = resource;
    const { Code, LoggingConfig, Environment, ...settings } = resource.read(properties);
    if (settings.Layers !== undefined)
      this.notes.push(`${logicalId}: layers are not supported by cdk-offline`);
    return {
      logicalId,
      name,
      arn: functionArn(name),
      constructPath,
      codeId: Code.S3Key ?? '',
      taskRoot: await this.#code(logicalId, Code.S3Key),
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

  async #code(logicalId: string, key: string | undefined): Promise<string> {
    const asset = this.#assets.get(key ?? '');
    if (key === undefined || asset === undefined) {
      throw new TemplateError(`${logicalId}: its code ${key} is not an asset of the stack`);
    }
    if (asset.packaging !== 'zip') throw new TemplateError(`${logicalId}: its code must be a folder asset`);
    const copying =
      this.#copies.get(asset.path) ?? copyCode(asset.path, join(this.#directory, key.replace(/\.zip$/, '')));
    this.#copies.set(asset.path, copying);
    return copying;
  }
}
