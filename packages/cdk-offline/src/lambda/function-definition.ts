import { join } from 'node:path';
import { z } from 'zod';
import { functionArn } from '../template/aws.ts';
import type { Asset } from '../template/assembly.ts';
import { TemplateError } from '../template/intrinsics.ts';
import { scalar, unsupported } from '../template/schema.ts';
import type { Stack, StackResource } from '../template/stack.ts';
import type { StackWithImports } from '../template/stack-with-imports.ts';
import { labelsOf } from './label.ts';
import { copyCode, unzipCode, writeInlineCode } from './code.ts';

/** A function of the template, ready to run. */
export interface FunctionDefinition {
  /** For a function of another stack with the name of that stack, such as `Stack.Function`. */
  readonly logicalId: string;
  /** In messages, see `labelsOf`. */
  readonly label: string;
  readonly name: string;
  readonly arn: string;
  /** The `aws:cdk:path` of the resource, such as `Stack/Things/List/Resource`. */
  readonly constructPath: string | undefined;
  /** Identifies the code: functions with the same one run the same code. */
  readonly codeId: string;
  /** The folder used as /var/task: a copy of `source`. */
  readonly taskRoot: string;
  /** The asset, which may be removed while the function runs. */
  readonly source: string;
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
    ImageUri: unsupported('container images are'),
  }),
  Handler: z.string(),
  Runtime: z.string().regex(/^nodejs/, 'only Node.js functions are supported by cdk-offline'),
  Timeout: z.number().default(3),
  MemorySize: z.number().default(128),
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

const named = z.object({ Handler: z.string().catch('') });
const permittedCall = z.object({ Action: z.unknown(), Principal: z.unknown() });
const permission = z.object({ FunctionName: z.string(), Qualifier: z.string().optional() });
const gatewayPrincipal = 'apigateway.amazonaws.com';

/** The functions of the stacks by the URIs of integrations and authorizers. */
export class Functions {
  readonly notes: string[] = [];
  readonly #stacks: StackWithImports;
  readonly #assets: ReadonlyMap<string, Asset>;
  readonly #directory: string;
  /** The functions and aliases that API Gateway may invoke, by stack. */
  readonly #permitted = new Map<Stack, ReadonlySet<string>>();
  readonly #loading = new Map<string, Promise<FunctionDefinition>>();
  readonly #copies = new Map<string, Promise<string>>();
  readonly #labels: ReadonlyMap<string, string>;

  /**
   * @param directory where code is copied to. Outside any project, so that modules are resolved and interpreted as on
   * Lambda
   */
  constructor(stacks: StackWithImports, assets: ReadonlyMap<string, Asset>, directory: string) {
    this.#stacks = stacks;
    this.#assets = assets;
    this.#directory = directory;
    this.#labels = labelsOf(
      stacks.main.tree.flatMap((stack) =>
        stack.resources('AWS::Lambda::Function').map((resource) => ({
          logicalId: stacks.idOf(stack, resource.logicalId),
          constructPath: resource.constructPath,
          handler: resource.read(named).Handler,
        })),
      ),
    );
  }

  /**
   * The function that an integration's URI names, directly or by an alias or version.
   *
   * @param uri `arn:aws:apigateway:REGION:lambda:path/2015-03-31/functions/FUNCTION_ARN/invocations`
   * @param credentials the role that API Gateway assumes; without one the function needs a resource-based permission
   * @throws TemplateError when the function is not in this stack, not supported, or may not be invoked by API Gateway
   */
  async ofUri(uri: string, credentials: string | undefined): Promise<FunctionDefinition> {
    const target = /^arn:[^:]+:apigateway:[^:]+:lambda:path\/[\d-]+\/functions\/(.+)\/invocations$/.exec(
      uri,
    )?.[1];
    if (target === undefined) throw new TemplateError(`${uri} is not the URI of a Lambda function`);
    const name = /^arn:[^:]+:lambda:[^:]+:\d+:function:([^:]+)/.exec(target)?.[1];
    const { involved } = this.#stacks;
    if (credentials === undefined && !involved.some((stack) => this.#permits(stack, functionArn(target)))) {
      throw new TemplateError(`No AWS::Lambda::Permission lets API Gateway invoke ${target}`);
    }
    for (const stack of involved) {
      const resource = stack
        .resources('AWS::Lambda::Function')
        .find(({ physicalId }) => physicalId === (name ?? target));
      if (resource === undefined) continue;
      const id = this.#stacks.idOf(stack, resource.logicalId);
      const loading = this.#loading.get(id) ?? this.#load(id, resource);
      this.#loading.set(id, loading);
      return loading;
    }
    throw new TemplateError(`The stack has no function ${target}`);
  }

  /** A permission for a function does not cover its aliases. */
  #permits(stack: Stack, target: string): boolean {
    const permitted = this.#permitted.get(stack) ?? permissionsOf(stack);
    this.#permitted.set(stack, permitted);
    return permitted.has(target);
  }

  /** Every function that `ofUri` returned. */
  async loaded(): Promise<FunctionDefinition[]> {
    const loaded = await Promise.allSettled(this.#loading.values());
    return loaded.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  }

  async #load(logicalId: string, resource: StackResource): Promise<FunctionDefinition> {
    const { physicalId: name, constructPath } = resource;
    const { Code, LoggingConfig, ...settings } = resource.read(properties);
    const label = this.#labels.get(logicalId) ?? logicalId;
    if (/^nodejs(?:4|6|8|10|12|14|16)\./.test(settings.Runtime)) {
      this.notes.push(
        `${label}: Lambda no longer supports ${settings.Runtime}, and cdk-offline has no aws-sdk 2. Use a newer runtime, or bundle the package.`,
      );
    }
    if (settings.Layers !== undefined) this.notes.push(`${label}: layers are not supported by cdk-offline`);
    return {
      logicalId,
      label,
      name,
      arn: functionArn(name),
      constructPath,
      codeId: Code.S3Key ?? Code.ZipFile ?? '',
      taskRoot: await this.#code(logicalId, Code),
      source: this.#assets.get(Code.S3Key ?? '')?.path ?? logicalId,
      handler: settings.Handler,
      runtime: settings.Runtime,
      timeoutSeconds: settings.Timeout,
      memoryMb: settings.MemorySize,
      environment: this.#variables(resource, label),
      logFormat: LoggingConfig?.LogFormat ?? 'Text',
      logLevel: LoggingConfig?.ApplicationLogLevel,
      logGroupName: LoggingConfig?.LogGroup ?? `/aws/lambda/${name}`,
      reservedConcurrency: settings.ReservedConcurrentExecutions,
    };
  }

  /** Without the variables whose values are not known here. */
  #variables(resource: StackResource, label: string): Record<string, string> {
    const variables: Record<string, string> = {};
    for (const [name, resolved] of resource.readEach(['Environment', 'Variables'], 'the variable')) {
      const value = 'problem' in resolved ? resolved : scalar.safeParse(resolved.value);
      if ('problem' in value) this.notes.push(`${label}: ${value.problem}. It is not set.`);
      else if (value.success) variables[name] = value.data;
    }
    return variables;
  }

  #code(
    logicalId: string,
    { S3Key: key, ZipFile: inline }: z.infer<typeof properties>['Code'],
  ): Promise<string> {
    if (inline !== undefined) return writeInlineCode(inline, join(this.#directory, logicalId));
    const asset = this.#assets.get(key ?? '');
    if (key === undefined || asset === undefined) {
      throw new TemplateError(`${logicalId}: its code ${key} is not an asset of the stack`);
    }
    const copy = asset.packaging === 'zip' ? copyCode : unzipCode;
    const copying =
      this.#copies.get(asset.path) ?? copy(asset.path, join(this.#directory, key.replace(/\.zip$/, '')));
    this.#copies.set(asset.path, copying);
    return copying;
  }
}

function permissionsOf(stack: Stack): ReadonlySet<string> {
  return new Set(
    stack
      .resources('AWS::Lambda::Permission')
      .filter((resource) => isForGateway(resource))
      .map((resource) => resource.read(permission))
      .map(({ FunctionName, Qualifier }) => functionArn(FunctionName, Qualifier)),
  );
}

/** Other permissions may refer to what is not supported. */
function isForGateway(resource: StackResource): boolean {
  const { Action, Principal } = resource.read(permittedCall);
  return Action === 'lambda:InvokeFunction' && Principal === gatewayPrincipal;
}
