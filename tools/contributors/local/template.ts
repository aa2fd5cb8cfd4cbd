import { createHash } from 'node:crypto';
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
/** A type that has no effect on clients of the local service. */
const withoutEffect = (...properties: readonly string[]) =>
  z.strictObject(Object.fromEntries(properties.map((each) => [each, noEffect])));
const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
/** Of a header of a gateway response. */
const headerSource = /^(?:'.*'|context\.[\w.]+|method\.request\.(?:header|querystring)\.[\w-]+)$/s;
const index = z.strictObject({
  IndexName: z.string(),
  KeySchema: z.array(z.strictObject({ AttributeName: z.string(), KeyType: z.enum(['HASH', 'RANGE']) })),
  Projection: z.strictObject({ ProjectionType: z.literal('ALL') }),
});

/** The properties of each type. */
const types = {
  'AWS::ApiGateway::Authorizer': z.strictObject({
    AuthorizerResultTtlInSeconds: z.number().min(0).max(3600),
    AuthorizerUri: z.string(),
    IdentitySource: z.literal('method.request.header.Authorization'),
    IdentityValidationExpression: z.string(),
    Name: noEffect,
    RestApiId: noEffect,
    Type: z.literal('TOKEN'),
  }),
  'AWS::ApiGateway::Deployment': withoutEffect('Description', 'RestApiId'),
  'AWS::ApiGateway::GatewayResponse': z.strictObject({
    ResponseParameters: z.record(z.string(), z.string().regex(headerSource)).default({}),
    ResponseTemplates: z.strictObject({ 'application/json': z.string() }).optional(),
    ResponseType: z.string(),
    RestApiId: noEffect,
    StatusCode: text.transform(Number).optional(),
  }),
  'AWS::ApiGateway::Method': z.strictObject({
    ApiKeyRequired: z.literal(true),
    AuthorizationType: z.literal('CUSTOM'),
    AuthorizerId: z.string(),
    HttpMethod: z.string(),
    Integration: z.strictObject({
      IntegrationHttpMethod: z.literal('POST'),
      TimeoutInMillis: z.number().default(29_000),
      Type: z.literal('AWS_PROXY'),
      Uri: z.string(),
    }),
    ResourceId: z.string(),
    RestApiId: noEffect,
  }),
  'AWS::ApiGateway::Resource': z.strictObject({
    ParentId: z.string(),
    PathPart: z.string(),
    RestApiId: noEffect,
  }),
  'AWS::ApiGateway::RestApi': z.strictObject({
    ApiKeySourceType: z.literal('AUTHORIZER'),
    EndpointAccessMode: noEffect,
    EndpointConfiguration: noEffect,
    MinimumCompressionSize: z.number(),
    Name: noEffect,
    SecurityPolicy: noEffect,
  }),
  'AWS::ApiGateway::Stage': z.strictObject({
    AccessLogSetting: noEffect,
    DeploymentId: z.string(),
    MethodSettings: noEffect,
    RestApiId: noEffect,
    StageName: z.string(),
    TracingEnabled: noEffect,
  }),
  'AWS::ApiGateway::UsagePlan': z.strictObject({
    ApiStages: z.array(
      z.strictObject({ ApiId: z.string(), Stage: z.string(), Throttle: z.strictObject({}).optional() }),
    ),
    Description: z.string().optional(),
    Quota: z.strictObject({ Limit: z.number().int(), Period: z.literal('DAY') }).optional(),
    Throttle: z.strictObject({ BurstLimit: z.number(), RateLimit: z.number() }).optional(),
    UsagePlanName: z.string(),
  }),
  'AWS::DynamoDB::GlobalTable': z.strictObject({
    AttributeDefinitions: z.array(
      z.strictObject({ AttributeName: z.string(), AttributeType: z.enum(['S', 'N', 'B']) }),
    ),
    BillingMode: z.literal('PAY_PER_REQUEST'),
    GlobalSecondaryIndexes: z.array(index).default([]),
    KeySchema: index.shape.KeySchema,
    Replicas: noEffect,
    TimeToLiveSpecification: z
      .strictObject({ AttributeName: z.string(), Enabled: z.literal(true) })
      .optional(),
  }),
  'AWS::IAM::Policy': withoutEffect('PolicyDocument', 'PolicyName', 'Roles'),
  'AWS::IAM::Role': withoutEffect('AssumeRolePolicyDocument', 'Description'),
  'AWS::Lambda::Alias': z.strictObject({
    FunctionName: z.string(),
    FunctionVersion: noEffect,
    Name: z.string(),
  }),
  'AWS::Lambda::Function': z.strictObject({
    Architectures: noEffect,
    Code: z.strictObject({ S3Bucket: noEffect, S3Key: z.string() }),
    Description: noEffect,
    Environment: z.strictObject({ Variables: z.record(z.string(), text) }),
    Handler: z.string().regex(/^[\w-]+\.\w+$/),
    LoggingConfig: z.strictObject({
      ApplicationLogLevel: z.enum(['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL']),
      LogFormat: z.literal('JSON'),
      LogGroup: z.string(),
      SystemLogLevel: noEffect,
    }),
    MemorySize: z.number(),
    Role: noEffect,
    Runtime: z.literal('nodejs24.x'),
    Timeout: z.number(),
    TracingConfig: noEffect,
  }),
  'AWS::Lambda::Permission': withoutEffect('Action', 'FunctionName', 'Principal', 'SourceArn'),
  'AWS::Lambda::Version': withoutEffect('FunctionName'),
  'AWS::Logs::LogGroup': withoutEffect('RetentionInDays'),
};

const resource = z.strictObject({
  Type: z.string(),
  Properties: z.record(z.string(), z.unknown()).default({}),
  DependsOn: noEffect,
  DeletionPolicy: noEffect,
  UpdateReplacePolicy: noEffect,
  Metadata: noEffect,
});
const template = z.strictObject({
  Description: noEffect,
  Resources: z.record(z.string(), z.unknown()),
  Outputs: z.record(z.string(), z.strictObject({ Description: noEffect, Value: z.unknown() })).default({}),
  // Of the CDK: whether the account is bootstrapped.
  Parameters: z.strictObject({ BootstrapVersion: noEffect }).optional(),
  Rules: z.strictObject({ CheckBootstrapVersion: noEffect }).optional(),
});

type ResourceType = keyof typeof types;
export const resourceTypes = Object.keys(types);
export interface Resource<T extends ResourceType> {
  readonly logicalId: string;
  /** The value of `Ref`. */
  readonly id: string;
  readonly properties: z.infer<(typeof types)[T]>;
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
  readonly #resources: readonly (Resource<ResourceType> & { readonly type: ResourceType })[];

  /** @throws TemplateError */
  constructor(name: string, folder: string, json: unknown) {
    this.name = name;
    this.folder = folder;
    const problems: string[] = [];
    const parse = <T>(what: string, schema: z.ZodType<T>, value: unknown): T | undefined => {
      const parsed = schema.safeParse(value);
      if (parsed.success) return parsed.data;
      problems.push(...parsed.error.issues.map((issue) => problemOf(what, issue)));
      return undefined;
    };
    const { Resources = {}, Outputs = {} } = parse('The template', template, json) ?? {};
    const parsed = Object.entries(Resources).map(
      ([logicalId, value]) => [logicalId, parse(logicalId, resource, value)] as const,
    );
    const references = new References(name, new Map(parsed));
    const resolved = (what: string, value: unknown): unknown => {
      try {
        return references.resolve(value);
      } catch (error) {
        if (!(error instanceof TemplateError)) throw error;
        problems.push(`${what}: ${error.message}`);
        return undefined;
      }
    };
    this.#resources = parsed.flatMap(([logicalId, found]) => {
      if (found === undefined) return [];
      const type = Object.keys(types).find((each) => each === found.Type) as ResourceType | undefined;
      if (type === undefined) {
        problems.push(`${logicalId} is of the type ${found.Type}, which the local service does not know.`);
        return [];
      }
      const what = `${logicalId} (${type})`;
      const given = resolved(what, found.Properties);
      if (given === undefined) return [];
      const properties = parse(what, types[type] as z.ZodType<object>, given);
      if (properties === undefined) return [];
      return [{ logicalId, type, id: references.idOf(logicalId), properties } as never];
    });
    this.outputs = Object.fromEntries(
      Object.entries(Outputs).map(([key, { Value }]) => [key, String(resolved(`The output ${key}`, Value))]),
    );
    if (problems.length > 0)
      throw new TemplateError(
        `The stack ${name} cannot be served here. Extend tools/contributors/local/template.ts, or undo the change.\n${problems.join('\n')}`,
      );
  }

  /** @param folder of the assembly that `cdk synth` writes */
  static read(name: string, folder: string): Stack {
    return new Stack(name, folder, JSON.parse(readFileSync(join(folder, `${name}.template.json`), 'utf8')));
  }

  resources<T extends ResourceType>(type: T): readonly Resource<T>[] {
    return this.#resources.filter((each) => each.type === type);
  }

  /** The only resource of a type. @throws TemplateError */
  only<T extends ResourceType>(type: T): Resource<T> {
    const [found, ...others] = this.resources(type);
    if (found !== undefined && others.length === 0) return found;
    throw new TemplateError(`The stack ${this.name} must have one ${type}.`);
  }
}

function problemOf(what: string, issue: z.core.$ZodIssue): string {
  const path = issue.path.map((part) => `${String(part)}.`).join('');
  if (issue.code === 'unrecognized_keys')
    return `${what} has the property ${issue.keys.map((key) => path + key).join(', ')}, which the local service does not know.`;
  return `${what}: ${path.slice(0, -1)}: ${issue.message}`;
}

type Parsed = z.infer<typeof resource> | undefined;

/** CloudFormation's intrinsic functions. https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/intrinsic-function-reference.html */
class References {
  readonly #name: string;
  readonly #resources: ReadonlyMap<string, Parsed>;

  constructor(name: string, resources: ReadonlyMap<string, Parsed>) {
    this.#name = name;
    this.#resources = resources;
  }

  resolve(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.resolve(each));
    if (typeof value !== 'object' || value === null) return value;
    const [first, ...others] = Object.entries(value);
    if (first !== undefined && others.length === 0 && /^(?:Ref|Condition|Fn::.*)$/.test(first[0]))
      return this.#call(...first);
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.resolve(each)]));
  }

  /** The value of `Ref`. Names are the same in each run, because `--data` keeps them. */
  idOf(logicalId: string): string {
    const { Type = '', Properties = {} } = this.#resources.get(logicalId) ?? {};
    const property = (name: string) => String(this.resolve(Properties[name]));
    if (Type === 'AWS::ApiGateway::Stage') return property('StageName');
    if (Type.startsWith('AWS::ApiGateway::')) return stableId(`${this.#name}/${logicalId}`);
    if (Type === 'AWS::Lambda::Alias') return functionArn(`${property('FunctionName')}:${property('Name')}`);
    if (Type === 'AWS::Lambda::Version') return functionArn(`${property('FunctionName')}:1`);
    if (Type === '') throw new TemplateError(`There is no resource ${logicalId}.`);
    return `${this.#name}-${logicalId}`;
  }

  #call(name: string, argument: unknown): unknown {
    const [first, second] = Array.isArray(argument) ? argument : [];
    switch (name) {
      case 'Ref':
        return pseudoParameters[String(argument)] ?? this.idOf(String(argument));
      case 'Fn::GetAtt':
        return this.#attribute(String(first), String(second));
      case 'Fn::Sub':
        return String(argument).replaceAll(/\$\{([\w:]+)\}/g, (_, id: string) =>
          String(this.#call('Ref', id)),
        );
      case 'Fn::Join':
        return (this.resolve(second) as unknown[]).join(String(first));
      case 'Fn::Split':
        return String(this.resolve(second)).split(String(first));
      case 'Fn::Select':
        return (this.resolve(second) as unknown[])[Number(first)];
      default:
        throw new TemplateError(`The local service does not know ${name}.`);
    }
  }

  #attribute(logicalId: string, attribute: string): string {
    const { Type = '' } = this.#resources.get(logicalId) ?? {};
    const id = this.idOf(logicalId);
    if (Type === 'AWS::ApiGateway::RestApi' && attribute === 'RootResourceId')
      return stableId(`${this.#name}/${logicalId}/root`);
    if (Type === 'AWS::Lambda::Version' && attribute === 'Version') return '1';
    // What has an ARN is not called by it here.
    if (attribute === 'Arn') return `arn:aws:${Type}:${region}:${accountId}:${id}`;
    throw new TemplateError(
      `The local service does not know the attribute ${attribute} of ${logicalId} (${Type}).`,
    );
  }
}

const pseudoParameters: Readonly<Record<string, string>> = {
  'AWS::AccountId': accountId,
  'AWS::Partition': 'aws',
  'AWS::Region': region,
  'AWS::URLSuffix': 'amazonaws.com',
};

function functionArn(name: string): string {
  return `arn:aws:lambda:${region}:${accountId}:function:${name}`;
}

/** Ten letters and digits, as in API Gateway's IDs. */
function stableId(seed: string): string {
  return BigInt(`0x${createHash('sha256').update(seed).digest('hex')}`)
    .toString(36)
    .slice(-10);
}
