import { createHash } from 'node:crypto';
import { z } from 'zod';
import { accountId, arn, functionArn, partition, region } from '../aws.ts';
import type { Template, TemplateResource } from './assembly.ts';
import { type Json, resolve, type Scope, TemplateError } from './intrinsics.ts';

export interface StackResource {
  readonly logicalId: string;
  /** The `aws:cdk:path` of the metadata. */
  readonly constructPath: string | undefined;
  /** The value of `Ref`. */
  readonly physicalId: string;
  /** The value of `Fn::GetAtt`. @throws TemplateError when the attribute is not supported */
  attribute(name: string): string;
  /** Reads properties, resolved. @throws TemplateError naming the resource and what is wrong with it */
  read<T>(properties: z.ZodType<T>): T;
}

/** The property that names a resource, by type. */
const nameProperties: Readonly<Record<string, string>> = {
  'AWS::DynamoDB::Table': 'TableName',
  'AWS::DynamoDB::GlobalTable': 'TableName',
  'AWS::Lambda::Function': 'FunctionName',
  'AWS::ApiGateway::Stage': 'StageName',
  'AWS::Logs::LogGroup': 'LogGroupName',
};

const gatewayIds = /^AWS::ApiGateway::(?:RestApi|Resource|Authorizer|Deployment|UsagePlan|ApiKey)$/;

/** Attributes with the value of `Ref`. */
const idAttributes = /^(?:RestApiId|ResourceId|AuthorizerId|DeploymentId|Id|APIKeyId|FunctionArn|AliasArn)$/;

/**
 * The stack of a template, as if it were deployed. Physical IDs depend only on the stack's name and the logical ID, so
 * data kept between runs stays valid.
 */
export class Stack {
  readonly name: string;
  readonly id: string;
  readonly #template: Template;
  readonly #scope: Scope;
  readonly #pseudoParameters: Readonly<Record<string, Json | undefined>>;

  constructor(name: string, template: Template) {
    this.name = name;
    this.id = arn('cloudformation', `stack/${name}/${stableId(name)}`);
    this.#template = template;
    this.#pseudoParameters = {
      'AWS::AccountId': accountId,
      'AWS::NoValue': undefined,
      'AWS::Partition': partition,
      'AWS::Region': region,
      'AWS::StackId': this.id,
      'AWS::StackName': this.name,
      'AWS::URLSuffix': 'amazonaws.com',
    };
    this.#scope = {
      ref: (target) => this.#ref(target),
      getAtt: (logicalId, attribute) => this.#getAtt(logicalId, attribute),
      condition: (condition) => this.#condition(condition),
      mapping: (mapping, first, second) =>
        template.Mappings[mapping]?.[first]?.[second] ??
        fail(`The mapping ${mapping} has no value for ${first}, ${second}`),
    };
  }

  /** The resources of the given types whose conditions hold, in the template's order. */
  resources(...types: readonly string[]): StackResource[] {
    return this.#existing()
      .filter(([, { Type }]) => types.includes(Type))
      .map(([logicalId, resource]) => this.#resource(logicalId, resource));
  }

  /** Every type of resource that exists in the stack. */
  get types(): ReadonlySet<string> {
    return new Set(this.#existing().map(([, { Type }]) => Type));
  }

  /** The stack's outputs. Those that depend on another service are omitted, and listed in `unresolved` with the reason. */
  outputs(): { readonly values: Record<string, string>; readonly unresolved: readonly string[] } {
    const values: Record<string, string> = {};
    const unresolved: string[] = [];
    for (const [name, { Value, Condition }] of Object.entries(this.#template.Outputs)) {
      if (!this.#holds(Condition)) continue;
      try {
        values[name] = toText(resolve(Value, this.#scope), `The output ${name}`);
      } catch (error) {
        if (!(error instanceof TemplateError)) throw error;
        unresolved.push(`${name}: ${error.message}`);
      }
    }
    return { values, unresolved };
  }

  #existing(): [logicalId: string, TemplateResource][] {
    return Object.entries(this.#template.Resources).filter(([, { Condition }]) => this.#holds(Condition));
  }

  #holds(condition: string | undefined): boolean {
    return condition === undefined || this.#condition(condition) === true;
  }

  #resource(logicalId: string, { Type, Properties, Metadata }: TemplateResource): StackResource {
    const path = Metadata?.['aws:cdk:path'];
    return {
      logicalId,
      constructPath: typeof path === 'string' ? path : undefined,
      physicalId: this.#physicalId(logicalId),
      attribute: (name) => this.#getAtt(logicalId, name),
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

  #condition(name: string): Json {
    const condition = this.#template.Conditions[name] ?? fail(`The template has no condition ${name}`);
    return resolve(condition, this.#scope) ?? false;
  }

  #ref(name: string): Json | undefined {
    if (Object.hasOwn(this.#pseudoParameters, name)) return this.#pseudoParameters[name];
    const parameter = this.#template.Parameters[name];
    return parameter === undefined ? this.#physicalId(name) : parameterValue(name, parameter);
  }

  #physicalId(logicalId: string): string {
    const { Type, Properties } =
      this.#template.Resources[logicalId] ?? fail(`The template has no resource or parameter ${logicalId}`);
    const text = (property: string): string =>
      toText(resolve(Properties[property] ?? null, this.#scope), `${logicalId}.${property}`);
    const nameProperty = nameProperties[Type];
    if (nameProperty !== undefined && nameProperty in Properties) return text(nameProperty);
    if (gatewayIds.test(Type)) return stableId(`${this.name}/${logicalId}`);
    if (Type === 'AWS::Lambda::Version') return functionArn(text('FunctionName'), '1');
    if (Type === 'AWS::Lambda::Alias') return functionArn(text('FunctionName'), text('Name'));
    return `${this.name}-${logicalId}`;
  }

  #getAtt(logicalId: string, attribute: string): string {
    const id = this.#physicalId(logicalId);
    const type = this.#template.Resources[logicalId]?.Type ?? '';
    if (type === 'AWS::ApiGateway::RestApi' && attribute === 'RootResourceId') {
      return stableId(`${this.name}/${logicalId}/root`);
    }
    if (type === 'AWS::Lambda::Version' && attribute === 'Version') return '1';
    if (/^AWS::(?:ApiGateway|Lambda)::/.test(type) && idAttributes.test(attribute)) return id;
    return attribute === 'Arn'
      ? arnOf(type, id)
      : fail(`The attribute ${attribute} of ${logicalId} (${type}) is not supported by cdk-offline`);
  }
}

function arnOf(type: string, name: string): string {
  switch (type) {
    case 'AWS::Lambda::Function':
      return functionArn(name);
    case 'AWS::DynamoDB::GlobalTable':
      return arn('dynamodb', `table/${name}`);
    case 'AWS::Logs::LogGroup':
      return arn('logs', `log-group:${name}:*`);
    default: {
      const [, service = '', kind = ''] = type.toLowerCase().split('::');
      return arn(service, `${kind}/${name}`);
    }
  }
}

/** Only the properties of the schema are resolved: others may need AWS. */
function readProperties<T>(
  properties: Readonly<Record<string, Json>>,
  schema: z.ZodType<T>,
  scope: Scope,
): T {
  const wanted = schema instanceof z.ZodObject ? Object.keys(schema.shape) : Object.keys(properties);
  const resolved = wanted.flatMap((name) => {
    const value = properties[name];
    return value === undefined ? [] : [[name, resolve(value, scope)] as const];
  });
  const parsed = schema.safeParse(Object.fromEntries(resolved));
  return parsed.success ? parsed.data : fail(z.prettifyError(parsed.error));
}

function parameterValue(name: string, { Type, Default }: Template['Parameters'][string]): Json {
  if (Default === undefined) return fail(`The parameter ${name} has no default`);
  if (Type.startsWith('AWS::SSM::')) {
    return fail(`The parameter ${name} is read from Systems Manager, which is not supported by cdk-offline`);
  }
  if ((Type === 'CommaDelimitedList' || Type.startsWith('List<')) && typeof Default === 'string') {
    return Default.split(',').map((item) => item.trim());
  }
  return Default;
}

/** Ten letters and digits, as in API Gateway's IDs. */
function stableId(seed: string): string {
  const digest = createHash('sha256').update(seed).digest('hex');
  return BigInt(`0x${digest}`).toString(36).slice(-10);
}

function toText(value: Json | undefined, what: string): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : fail(`${what} must be text`);
}

function fail(message: string): never {
  throw new TemplateError(message);
}
