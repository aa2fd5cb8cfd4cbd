import { createHash } from 'node:crypto';
import { z } from 'zod';
import { accountId, arn, partition, region, urlSuffix } from '../aws.ts';
import type { Template, TemplateResource } from './assembly.ts';
import { type Json, resolve, type Scope, TemplateError } from './intrinsics.ts';

/** A resource of the stack, its properties resolved when they are read. */
export interface StackResource {
  readonly logicalId: string;
  readonly type: string;
  /** The construct's path, as the CDK writes it into the metadata. */
  readonly constructPath: string | undefined;
  /** What `Ref` gives. */
  readonly physicalId: string;
  /** What `Fn::GetAtt` gives. @throws TemplateError when there is no such attribute here */
  attribute(name: string): string;
  /**
   * Reads properties, resolved.
   *
   * @throws TemplateError naming the resource and what is wrong with it
   */
  read<T>(properties: z.ZodType<T>): T;
}

/** The name of a resource where the template gives it none, per type. */
const nameProperty: Readonly<Record<string, string>> = {
  'AWS::DynamoDB::Table': 'TableName',
  'AWS::DynamoDB::GlobalTable': 'TableName',
  'AWS::Lambda::Function': 'FunctionName',
  'AWS::ApiGateway::Stage': 'StageName',
  'AWS::Logs::LogGroup': 'LogGroupName',
};

/** Resources that API Gateway gives an id of ten letters and digits. */
const gatewayIds = /^AWS::ApiGateway::(?:RestApi|Resource|Authorizer|Deployment|UsagePlan|ApiKey)$/;
const gatewayIdAttributes = new Set([
  'RestApiId',
  'ResourceId',
  'AuthorizerId',
  'DeploymentId',
  'Id',
  'APIKeyId',
]);

/**
 * The stack that a template describes, as if it had been deployed: each resource has a physical id that depends
 * on its logical id alone, so that what is kept between runs still fits.
 */
export class Stack {
  readonly name: string;
  readonly id: string;
  readonly #template: Template;
  readonly #scope: Scope;
  readonly #resolving = new Set<string>();

  constructor(name: string, template: Template) {
    this.name = name;
    this.id = arn('cloudformation', `stack/${name}/${stableUuid(name)}`);
    this.#template = template;
    this.#scope = {
      ref: (target) => this.#ref(target),
      getAtt: (logicalId, attribute) => this.#getAtt(logicalId, attribute),
      condition: (condition) => this.#condition(condition),
      mapping: (mapping, first, second) =>
        template.Mappings[mapping]?.[first]?.[second] ??
        fail(`The mapping ${mapping} has no ${first}, ${second}`),
    };
  }

  /** The resources of the given types that the template's conditions let exist, in its order. */
  resources(...types: readonly string[]): StackResource[] {
    return Object.entries(this.#template.Resources)
      .filter(([, resource]) => types.includes(resource.Type) && this.#exists(resource))
      .map(([logicalId, resource]) => this.#resource(logicalId, resource));
  }

  /** Every type of resource that exists in the stack. */
  get types(): ReadonlySet<string> {
    return new Set(
      Object.values(this.#template.Resources)
        .filter((resource) => this.#exists(resource))
        .map(({ Type }) => Type),
    );
  }

  /** The stack's outputs; those that need another service's answer are left out and named in `unresolved`. */
  outputs(): { readonly values: Record<string, string>; readonly unresolved: readonly string[] } {
    const values: Record<string, string> = {};
    const unresolved: string[] = [];
    for (const [name, { Value, Condition }] of Object.entries(this.#template.Outputs)) {
      if (Condition !== undefined && !this.#holds(Condition)) continue;
      try {
        values[name] = toText(resolve(Value, this.#scope), `The output ${name}`);
      } catch (error) {
        if (!(error instanceof TemplateError)) throw error;
        unresolved.push(`${name}: ${error.message}`);
      }
    }
    return { values, unresolved };
  }

  #resource(logicalId: string, { Type, Properties, Metadata }: TemplateResource): StackResource {
    const path = Metadata?.['aws:cdk:path'];
    return {
      logicalId,
      type: Type,
      constructPath: typeof path === 'string' ? path : undefined,
      physicalId: this.#physicalId(logicalId),
      attribute: (name) => toText(this.#getAtt(logicalId, name), `${logicalId}.${name}`),
      read: (properties) => {
        try {
          return readProperties(Properties, properties, this.#scope);
        } catch (error) {
          if (!(error instanceof TemplateError)) throw error;
          throw new TemplateError(`${logicalId} (${Type}): ${error.message}`, { cause: error });
        }
      },
    };
  }

  #exists({ Condition }: TemplateResource): boolean {
    return Condition === undefined || this.#holds(Condition);
  }

  #holds(condition: string): boolean {
    return this.#condition(condition) === true;
  }

  #condition(name: string): Json {
    const condition = this.#template.Conditions[name];
    return condition === undefined
      ? fail(`There is no condition ${name}`)
      : (resolve(condition, this.#scope) ?? false);
  }

  #ref(name: string): Json | undefined {
    const pseudo = this.#pseudoParameter(name);
    if (pseudo !== undefined) return pseudo;
    if (name === 'AWS::NoValue') return undefined;
    const parameter = this.#template.Parameters[name];
    if (parameter !== undefined) return parameterValue(name, parameter);
    return this.#physicalId(name);
  }

  #pseudoParameter(name: string): Json | undefined {
    const values: Readonly<Record<string, Json>> = {
      'AWS::AccountId': accountId,
      'AWS::NotificationARNs': [],
      'AWS::Partition': partition,
      'AWS::Region': region,
      'AWS::StackId': this.id,
      'AWS::StackName': this.name,
      'AWS::URLSuffix': urlSuffix,
    };
    return values[name];
  }

  #physicalId(logicalId: string): string {
    const resource =
      this.#template.Resources[logicalId] ?? fail(`There is no resource or parameter ${logicalId}`);
    const property = nameProperty[resource.Type];
    const given = property === undefined ? undefined : resource.Properties[property];
    if (given !== undefined) {
      const name = this.#once(logicalId, () => resolve(given, this.#scope));
      return typeof name === 'string' ? name : fail(`The name of ${logicalId} is no text`);
    }
    if (gatewayIds.test(resource.Type)) return stableId(`${this.name}/${logicalId}`);
    if (resource.Type === 'AWS::Lambda::Version') return `${this.#functionArnOf(resource)}:1`;
    if (resource.Type === 'AWS::Lambda::Alias') {
      return `${this.#functionArnOf(resource)}:${this.#text(resource, 'Name')}`;
    }
    return `${this.name}-${logicalId}`;
  }

  #getAtt(logicalId: string, attribute: string): Json {
    const resource = this.#template.Resources[logicalId] ?? fail(`There is no resource ${logicalId}`);
    const type = resource.Type;
    if (type === 'AWS::ApiGateway::RestApi' && attribute === 'RootResourceId') {
      return stableId(`${this.name}/${logicalId}/root`);
    }
    if (gatewayIds.test(type) && gatewayIdAttributes.has(attribute)) return this.#physicalId(logicalId);
    if (type === 'AWS::Lambda::Version') {
      if (attribute === 'Version') return '1';
      if (attribute === 'FunctionArn') return this.#physicalId(logicalId);
    }
    if (type === 'AWS::Lambda::Alias' && attribute === 'AliasArn') return this.#physicalId(logicalId);
    if (attribute === 'Arn') return this.#arnOf(logicalId, type);
    return fail(`${logicalId} (${type}) has no attribute ${attribute} here`);
  }

  #arnOf(logicalId: string, type: string): string {
    const name = this.#physicalId(logicalId);
    switch (type) {
      case 'AWS::Lambda::Function':
        return arn('lambda', `function:${name}`);
      case 'AWS::DynamoDB::Table':
      case 'AWS::DynamoDB::GlobalTable':
        return arn('dynamodb', `table/${name}`);
      case 'AWS::Logs::LogGroup':
        return arn('logs', `log-group:${name}:*`);
      default: {
        const [, service = 'unknown', kind = 'resource'] = type.split('::');
        return arn(service.toLowerCase(), `${kind.toLowerCase()}/${name}`);
      }
    }
  }

  #functionArnOf(resource: TemplateResource): string {
    const name = this.#text(resource, 'FunctionName');
    return name.startsWith('arn:') ? name : arn('lambda', `function:${name}`);
  }

  #text({ Properties }: TemplateResource, property: string): string {
    const value = Properties[property];
    const resolved = value === undefined ? undefined : resolve(value, this.#scope);
    return typeof resolved === 'string' ? resolved : fail(`The property ${property} is no text`);
  }

  /** A name may be made of other names, but not of itself. */
  #once<T>(logicalId: string, work: () => T): T {
    if (this.#resolving.has(logicalId)) return fail(`${logicalId} refers to itself`);
    this.#resolving.add(logicalId);
    try {
      return work();
    } finally {
      this.#resolving.delete(logicalId);
    }
  }
}

/** Only the properties that the schema names are resolved: others may hold what only AWS can resolve. */
function readProperties<T>(
  properties: Readonly<Record<string, Json>>,
  schema: z.ZodType<T>,
  scope: Scope,
): T {
  const wanted = schema instanceof z.ZodObject ? Object.keys(schema.shape) : Object.keys(properties);
  const resolved = Object.fromEntries(
    wanted.flatMap((name) => {
      const value = properties[name];
      return value === undefined ? [] : [[name, resolve(value, scope)]];
    }),
  );
  const parsed = schema.safeParse(resolved);
  return parsed.success ? parsed.data : fail(z.prettifyError(parsed.error));
}

function parameterValue(name: string, { Type, Default }: Template['Parameters'][string]): Json {
  if (Default === undefined) return fail(`The parameter ${name} has no default`);
  if (Type.startsWith('AWS::SSM::')) {
    return fail(`The parameter ${name} is read from Systems Manager, which cdk-offline does not run`);
  }
  if ((Type === 'CommaDelimitedList' || Type.startsWith('List<')) && typeof Default === 'string') {
    return Default.split(',').map((item) => item.trim());
  }
  return Default;
}

/** Ten letters and digits, as API Gateway's ids are. */
function stableId(seed: string): string {
  const digest = createHash('sha256').update(seed).digest('hex');
  return BigInt(`0x${digest}`).toString(36).slice(-10);
}

function stableUuid(seed: string): string {
  const hex = createHash('sha256').update(seed).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    '-',
  );
}

function toText(value: Json | undefined, what: string): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : fail(`${what} is no text`);
}

function fail(message: string): never {
  throw new TemplateError(message);
}
