import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/**
 * The template of the stack, with the references of its resources replaced. Nothing is served by a guess: a type of resource,
 * a property or an intrinsic function that is not listed here is an error that names it.
 */

/** Where the stack seems to be deployed. The account is the one of AWS's examples. */
export const region = 'us-east-1';
export const accountId = '123456789012';

const noEffect = z.unknown().optional();
const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
/** Of a header of a gateway response. */
const headerSource = /^(?:'.*'|context\.[\w.]+|method\.request\.(?:header|querystring)\.[\w-]+)$/s;
const keySchema = z.array(z.strictObject({ AttributeName: z.string(), KeyType: z.enum(['HASH', 'RANGE']) }));

/** The properties that the local service reads, by the type of their resource. */
const served = {
  'AWS::ApiGateway::Authorizer': z.object({
    AuthorizerResultTtlInSeconds: z.number(),
    AuthorizerUri: z.string(),
    IdentitySource: z.literal('method.request.header.Authorization'),
    IdentityValidationExpression: z.string(),
    Type: z.literal('TOKEN'),
  }),
  'AWS::ApiGateway::GatewayResponse': z.object({
    ResponseParameters: z.record(z.string(), z.string().regex(headerSource)).default({}),
    ResponseTemplates: z.strictObject({ 'application/json': z.string() }).optional(),
    ResponseType: z.string(),
    StatusCode: text.transform(Number).optional(),
  }),
  'AWS::ApiGateway::Method': z.object({
    ApiKeyRequired: z.literal(true),
    AuthorizationType: z.literal('CUSTOM'),
    HttpMethod: z.string(),
    Integration: z.strictObject({
      IntegrationHttpMethod: z.literal('POST'),
      Type: z.literal('AWS_PROXY'),
      Uri: z.string(),
    }),
    ResourceId: z.string(),
  }),
  'AWS::ApiGateway::Resource': z.object({
    ParentId: z.string(),
    PathPart: z.string().regex(/^(?:[\w-]+|\{\w+\+?\})$/),
  }),
  'AWS::ApiGateway::RestApi': z.object({
    ApiKeySourceType: z.literal('AUTHORIZER'),
    MinimumCompressionSize: z.number(),
  }),
  'AWS::ApiGateway::Stage': z.object({ StageName: z.string() }),
  'AWS::ApiGateway::UsagePlan': z.object({
    // The stage of this template, without a throttle of its own.
    ApiStages: z
      .array(
        z.strictObject({ ApiId: z.string(), Stage: z.string(), Throttle: z.strictObject({}).optional() }),
      )
      .length(1),
    Quota: z.strictObject({ Limit: z.number(), Period: z.literal('DAY') }).optional(),
    Throttle: z.strictObject({ BurstLimit: z.number(), RateLimit: z.number() }).optional(),
    UsagePlanName: z.string(),
  }),
  'AWS::DynamoDB::GlobalTable': z.object({
    AttributeDefinitions: z.array(
      z.strictObject({ AttributeName: z.string(), AttributeType: z.enum(['S', 'N', 'B']) }),
    ),
    BillingMode: z.literal('PAY_PER_REQUEST'),
    GlobalSecondaryIndexes: z
      .array(
        z.strictObject({
          IndexName: z.string(),
          KeySchema: keySchema,
          Projection: z.strictObject({ ProjectionType: z.literal('ALL') }),
        }),
      )
      .default([]),
    KeySchema: keySchema,
    TimeToLiveSpecification: z
      .strictObject({ AttributeName: z.string(), Enabled: z.literal(true) })
      .optional(),
  }),
  'AWS::Lambda::Alias': z.object({ FunctionName: z.string(), Name: z.string() }),
  'AWS::Lambda::Function': z.object({
    Code: z.strictObject({ S3Bucket: noEffect, S3Key: z.string() }),
    Environment: z.strictObject({ Variables: z.record(z.string(), text) }),
    Handler: z.string().regex(/^[\w-]+\.\w+$/),
    LoggingConfig: z.strictObject({
      ApplicationLogLevel: z.enum(['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL']),
      LogFormat: z.literal('JSON'),
      LogGroup: z.string(),
      SystemLogLevel: noEffect,
    }),
    MemorySize: z.number(),
    Runtime: z.literal('nodejs24.x'),
    Timeout: z.number(),
  }),
};

/** All types, with their other properties, which have no effect on clients of the local service. */
const others = {
  'AWS::ApiGateway::Authorizer': 'Name RestApiId',
  'AWS::ApiGateway::Deployment': 'Description RestApiId',
  'AWS::ApiGateway::GatewayResponse': 'RestApiId',
  'AWS::ApiGateway::Method': 'AuthorizerId RestApiId',
  'AWS::ApiGateway::Resource': 'RestApiId',
  'AWS::ApiGateway::RestApi': 'EndpointAccessMode EndpointConfiguration Name SecurityPolicy',
  'AWS::ApiGateway::Stage': 'AccessLogSetting DeploymentId MethodSettings RestApiId TracingEnabled',
  'AWS::ApiGateway::UsagePlan': 'Description',
  'AWS::DynamoDB::GlobalTable': 'Replicas',
  'AWS::IAM::Policy': 'PolicyDocument PolicyName Roles',
  'AWS::IAM::Role': 'AssumeRolePolicyDocument Description',
  'AWS::Lambda::Alias': 'FunctionVersion',
  'AWS::Lambda::Function': 'Architectures Description Role TracingConfig',
  'AWS::Lambda::Permission': 'Action FunctionName Principal SourceArn',
  'AWS::Lambda::Version': 'FunctionName',
  'AWS::Logs::LogGroup': 'RetentionInDays',
};
export const resourceTypes = Object.keys(others);

/** Attributes of resources. All but the first have no effect, so none has the value that it has on AWS. */
const attributes = new Set([
  'AWS::ApiGateway::RestApi RootResourceId',
  'AWS::DynamoDB::GlobalTable Arn',
  'AWS::IAM::Role Arn',
  'AWS::Lambda::Version Version',
  'AWS::Logs::LogGroup Arn',
]);

const pseudoParameters: Readonly<Record<string, string>> = {
  'AWS::AccountId': accountId,
  'AWS::Partition': 'aws',
  'AWS::Region': region,
  'AWS::URLSuffix': 'amazonaws.com',
};

const template = z.strictObject({
  Description: noEffect,
  Resources: z.record(
    z.string(),
    z.strictObject({
      Type: z.string(),
      Properties: z.record(z.string(), z.unknown()).default({}),
      DependsOn: noEffect,
      DeletionPolicy: noEffect,
      UpdateReplacePolicy: noEffect,
      Metadata: noEffect,
    }),
  ),
  Outputs: z.record(z.string(), z.strictObject({ Description: noEffect, Value: z.unknown() })).default({}),
  // Of the CDK: whether the account is bootstrapped.
  Parameters: noEffect,
  Rules: noEffect,
});
type Template = z.infer<typeof template>;

type ServedType = keyof typeof served;
export interface Resource<T extends ServedType> {
  /** The value of `Ref`. */
  readonly id: string;
  readonly properties: z.infer<(typeof served)[T]>;
}

/** Says of each part that is not known where it is. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

export class Stack {
  readonly name: string;
  /** Of the assembly, with the code of the functions. */
  readonly folder: string;
  readonly outputs: Readonly<Record<string, string>>;
  readonly #all: Template['Resources'];
  readonly #resources: readonly (Resource<ServedType> & { readonly type: string })[];

  /** @throws TemplateError */
  constructor(name: string, folder: string, json: unknown) {
    this.name = name;
    this.folder = folder;
    const problems: string[] = [];
    const attempt = <T>(what: string, step: () => T): T | undefined => {
      try {
        return step();
      } catch (error) {
        problems.push(...problemsOf(what, error));
        return undefined;
      }
    };
    const nothing: Template = { Resources: {}, Outputs: {} };
    const { Resources, Outputs } = attempt('The template', () => template.parse(json)) ?? nothing;
    this.#all = Resources;
    this.#resources = Object.entries(Resources).flatMap(([logicalId, { Type: type, Properties }]) => {
      const found = attempt(`${logicalId} (${type})`, () => ({
        type,
        id: this.#idOf(logicalId),
        properties: schemaOf(type).parse(this.#resolve(Properties)) as never,
      }));
      return found ?? [];
    });
    const outputs = Object.entries(Outputs).map(([key, { Value }]) => {
      const value = attempt(`The output ${key}`, () => this.#resolve(Value));
      return [key, String(value)] as const;
    });
    this.outputs = Object.fromEntries(outputs);
    if (problems.length > 0)
      throw new TemplateError(
        `The stack ${name} cannot be served here. Extend tools/contributors/local/template.ts, or undo the change.\n${problems.join('\n')}`,
      );
  }

  /** @param folder of the assembly that `cdk synth` writes */
  static read(name: string, folder: string): Stack {
    return new Stack(name, folder, JSON.parse(readFileSync(join(folder, `${name}.template.json`), 'utf8')));
  }

  resources<T extends ServedType>(type: T): readonly Resource<T>[] {
    return this.#resources.filter((each) => each.type === type);
  }

  /** The only resource of a type. @throws TemplateError */
  only<T extends ServedType>(type: T): Resource<T> {
    const [found, ...more] = this.resources(type);
    if (found !== undefined && more.length === 0) return found;
    throw new TemplateError(`The stack ${this.name} must have one ${type}.`);
  }

  /** A value with CloudFormation's intrinsic functions replaced. */
  #resolve(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.#resolve(each));
    if (typeof value !== 'object' || value === null) return value;
    const [first, ...more] = Object.entries(value);
    if (first !== undefined && more.length === 0 && /^(?:Ref|Fn::.*)$/.test(first[0]))
      return this.#call(...first);
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.#resolve(each)]));
  }

  /** https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/intrinsic-function-reference.html */
  #call(name: string, argument: unknown): unknown {
    const [first, second] = Array.isArray(argument) ? argument : [];
    switch (name) {
      case 'Ref':
        return pseudoParameters[String(argument)] ?? this.#idOf(String(argument));
      case 'Fn::GetAtt':
        if (attributes.has(`${this.#found(first).Type} ${second}`)) return `${first}.${second}`;
        throw new TemplateError(`The local service does not know the attribute ${second} of ${first}.`);
      case 'Fn::Sub':
        return String(argument).replaceAll(/\$\{([\w:]+)\}/g, (_, id) => String(this.#call('Ref', id)));
      case 'Fn::Join':
        return (this.#resolve(second) as unknown[]).join(String(first));
      case 'Fn::Split':
        return String(this.#resolve(second)).split(String(first));
      case 'Fn::Select':
        return (this.#resolve(second) as unknown[])[Number(first)];
      default:
        throw new TemplateError(`The local service does not know ${name}.`);
    }
  }

  /** The value of `Ref`. It is the same in each run, because `--data` keeps tables and usage plans by it. */
  #idOf(logicalId: string): string {
    const { Type, Properties } = this.#found(logicalId);
    const property = (name: string) => String(this.#resolve(Properties[name]));
    if (Type === 'AWS::ApiGateway::Stage') return property('StageName');
    if (Type.startsWith('AWS::ApiGateway::')) return logicalId;
    if (Type === 'AWS::Lambda::Alias')
      return `arn:aws:lambda:${region}:${accountId}:function:${property('FunctionName')}:${property('Name')}`;
    return `${this.name}-${logicalId}`;
  }

  #found(logicalId: string): Template['Resources'][string] {
    const found = this.#all[logicalId];
    if (found === undefined) throw new TemplateError(`There is no resource ${logicalId}.`);
    return found;
  }
}

function schemaOf(type: string): z.ZodType {
  if (!resourceTypes.includes(type)) throw new TemplateError('The local service does not know this type.');
  const names = others[type as keyof typeof others].split(' ');
  return z.strictObject({
    ...served[type as ServedType]?.shape,
    ...Object.fromEntries(names.map((name) => [name, noEffect])),
  });
}

function problemsOf(what: string, error: unknown): string[] {
  if (error instanceof TemplateError) return [`${what}: ${error.message}`];
  if (!(error instanceof z.ZodError)) throw error;
  return error.issues.map((issue) => {
    if (issue.code !== 'unrecognized_keys') return `${what}: ${issue.path.join('.')}: ${issue.message}`;
    const names = issue.keys.map((key) => [...issue.path, key].join('.'));
    return `${what} has the property ${names.join(', ')}, which the local service does not know.`;
  });
}
