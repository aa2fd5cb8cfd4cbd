import { z } from 'zod';
import { accountId, arn, functionArn, partition, region } from './aws.ts';
import type { Template, TemplateResource } from './assembly.ts';
import { type Json, resolve, type Scope, TemplateError } from './intrinsics.ts';
import { resourceValues, type ResourceValues, stableId } from './resource-values.ts';

export interface StackResource {
  readonly logicalId: string;
  /** The `aws:cdk:path` of the metadata. */
  readonly constructPath: string | undefined;
  /** The value of `Ref`. */
  readonly physicalId: string;
  /** The value of `Fn::GetAtt`. @throws TemplateError when the attribute is not supported */
  attribute(name: string): string;
  /**
   * Resolves each member of an object or list by itself.
   *
   * @param path the names of the properties that lead to the object or list
   * @param what names a member in a problem
   */
  readEach(path: readonly string[], what: string): ReadonlyMap<string, Resolved>;
  /** Reads properties, resolved. @throws TemplateError naming the resource and what is wrong with it */
  read<T>(properties: z.ZodType<T>): T;
}

/** The value of an expression, `undefined` for AWS::NoValue, or why it has none. */
export type Resolved = { readonly value: Json | undefined } | { readonly problem: string };

/** What a stack uses of its assembly. */
export interface Surroundings {
  /** The value that another stack exports under a name. @throws TemplateError when none does */
  readonly exported: (name: string) => Json;
  /** An output of another stack. @throws TemplateError when there is no such stack or output */
  readonly output: (stackName: string, outputName: string) => Json;
  /** @returns `undefined` for a template that is not in the assembly */
  readonly nestedTemplate: (url: string) => Template | undefined;
}

const gatewayType = /^AWS::ApiGateway::(?!Stage$)/;

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
  readonly #parameters: Readonly<Record<string, Json>>;
  readonly #surroundings: Surroundings;
  readonly #nested = new Map<string, Stack | undefined>();
  #tree: readonly Stack[] | undefined;
  readonly #scope: Scope;
  readonly #pseudoParameters: Readonly<Record<string, Json | undefined>>;

  /** @param parameters replace the defaults of the template's parameters */
  constructor(
    name: string,
    template: Template,
    surroundings: Surroundings = nothing,
    parameters: Readonly<Record<string, Json>> = {},
  ) {
    this.name = name;
    this.#parameters = parameters;
    this.#surroundings = surroundings;
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
      exported: surroundings.exported,
      output: surroundings.output,
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

  /** This stack and those nested in it, at any depth. */
  get tree(): readonly Stack[] {
    this.#tree ??= [this, ...this.#existing().flatMap(([id]) => this.nested(id)?.tree ?? [])];
    return this.#tree;
  }

  /** @returns `undefined` when the resource is no nested stack, or its template is not in the assembly */
  nested(logicalId: string): Stack | undefined {
    if (!this.#nested.has(logicalId)) this.#nested.set(logicalId, this.#readNested(logicalId));
    return this.#nested.get(logicalId);
  }

  #readNested(logicalId: string): Stack | undefined {
    const { Type, Properties = {} } = this.#template.Resources[logicalId] ?? {};
    if (Type !== 'AWS::CloudFormation::Stack') return undefined;
    const url = this.#attempt(Properties['TemplateURL'] ?? '', logicalId);
    const template =
      'value' in url && typeof url.value === 'string'
        ? this.#surroundings.nestedTemplate(url.value)
        : undefined;
    if (template === undefined) return undefined;
    // They may refer to the outputs of other nested stacks.
    const parameters = Object.entries(Object(Properties['Parameters'] ?? {}) as Record<string, Json>).map(
      ([name, value]) => [
        name,
        {
          enumerable: true,
          get: () => resolve(value, this.#scope) ?? fail(`${logicalId}: the parameter ${name} has no value`),
        },
      ],
    );
    const given = Object.defineProperties({}, Object.fromEntries(parameters)) as Record<string, Json>;
    return new Stack(`${this.name}-${logicalId}`, template, this.#surroundings, given);
  }

  /** The logical IDs of the resources that exist in the stack, by type. */
  get types(): ReadonlyMap<string, readonly string[]> {
    const byType = Map.groupBy(this.#existing(), ([, { Type }]) => Type);
    return new Map([...byType].map(([type, found]) => [type, found.map(([logicalId]) => logicalId)]));
  }

  /** @returns `undefined` when the stack does not export this name */
  exported(name: string): Json | undefined {
    const found = Object.values(this.#template.Outputs).find(
      ({ Export, Condition }) =>
        Export !== undefined && this.#holds(Condition) && this.#exportName(Export.Name) === name,
    );
    return found && resolve(found.Value, this.#scope);
  }

  /** @returns `undefined` when the stack has no such output */
  output(name: string): Json | undefined {
    const found = this.#template.Outputs[name];
    return found && resolve(found.Value, this.#scope);
  }

  #exportName(name: Json): Json | undefined {
    try {
      return resolve(name, this.#scope);
    } catch (error) {
      if (error instanceof TemplateError) return undefined;
      throw error;
    }
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
    const physicalId = (): string => this.#physicalId(logicalId);
    return {
      logicalId,
      constructPath: typeof path === 'string' ? path : undefined,
      get physicalId() {
        return physicalId();
      },
      attribute: (name) => toText(this.#getAtt(logicalId, name), `${logicalId}.${name}`),
      read: (properties) => {
        try {
          return readProperties(Properties, properties, this.#scope);
        } catch (error) {
          if (!(error instanceof TemplateError)) throw error;
          throw new TemplateError(`${logicalId} (${Type}): ${error.message}`, { cause: error });
        }
      },
      readEach: (properties, name) => {
        const all = properties.reduce<Json | undefined>(
          (value, property) => memberOf(value, property),
          Properties,
        );
        const entries = typeof all === 'object' && all !== null ? Object.entries(all) : [];
        return new Map(entries.map(([key, value]) => [key, this.#attempt(value, `${name} ${key}`)]));
      },
    };
  }

  #attempt(value: Json, what: string): Resolved {
    try {
      return { value: resolve(value, this.#scope) };
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      return { problem: `${what}: ${error.message}` };
    }
  }

  #condition(name: string): Json {
    const condition = this.#template.Conditions[name] ?? fail(`The template has no condition ${name}`);
    return resolve(condition, this.#scope) ?? false;
  }

  #ref(name: string): Json | undefined {
    if (Object.hasOwn(this.#pseudoParameters, name)) return this.#pseudoParameters[name];
    const parameter = this.#template.Parameters[name];
    if (parameter === undefined) return this.#physicalId(name);
    return parameterValue(name, parameter, this.#parameters[name]);
  }

  #physicalId(logicalId: string): string {
    const { Type, Properties } =
      this.#template.Resources[logicalId] ?? fail(`The template has no resource or parameter ${logicalId}`);
    const text = (property: string): string =>
      toText(resolve(Properties[property] ?? null, this.#scope), `${logicalId}.${property}`);
    if (gatewayType.test(Type)) return stableId(`${this.name}/${logicalId}`);
    if (Type === 'AWS::ApiGateway::Stage') return text('StageName');
    if (Type === 'AWS::Lambda::Function') {
      return 'FunctionName' in Properties ? text('FunctionName') : `${this.name}-${logicalId}`;
    }
    if (Type === 'AWS::Lambda::Version') return functionArn(text('FunctionName'), '1');
    if (Type === 'AWS::Lambda::Alias') return functionArn(text('FunctionName'), text('Name'));
    if (Type === 'AWS::CloudFormation::Stack') return (this.nested(logicalId) ?? noTemplate(logicalId)).id;
    if (Type === 'AWS::Lambda::LayerVersion') return arn('lambda', `layer:${this.name}-${logicalId}:1`);
    const values = this.#values(logicalId);
    return values?.ref ?? fail(`The value of Ref for ${logicalId} (${Type}) is not supported by cdk-offline`);
  }

  #values(logicalId: string): ResourceValues | undefined {
    const { Type = '', Properties = {} } = this.#template.Resources[logicalId] ?? {};
    const ownName = (property: string): string | undefined => {
      const name = resolve(Properties[property] ?? null, this.#scope);
      return typeof name === 'string' ? name : undefined;
    };
    return resourceValues(Type, ownName, `${this.name}-${logicalId}`);
  }

  #getAtt(logicalId: string, attribute: string): Json {
    const { Type: type = '', Properties = {} } = this.#template.Resources[logicalId] ?? {};
    // The value of a parameter is part of the template.
    if (type === 'AWS::SSM::Parameter' && (attribute === 'Value' || attribute === 'Type')) {
      return resolve(Properties[attribute] ?? null, this.#scope) ?? fail(`${logicalId} has no ${attribute}`);
    }
    if (type === 'AWS::CloudFormation::Stack') {
      const nested = this.nested(logicalId) ?? noTemplate(logicalId);
      return (
        nested.output(attribute.replace(/^Outputs\./, '')) ?? fail(`${logicalId} has no output ${attribute}`)
      );
    }
    const known = this.#values(logicalId)?.attributes[attribute];
    if (known !== undefined) return known;
    const id = this.#physicalId(logicalId);
    if (type === 'AWS::ApiGateway::RestApi' && attribute === 'RootResourceId') {
      return stableId(`${this.name}/${logicalId}/root`);
    }
    if (type === 'AWS::Lambda::Version' && attribute === 'Version') return '1';
    if (/^AWS::(?:ApiGateway|Lambda)::/.test(type) && idAttributes.test(attribute)) return id;
    if (type === 'AWS::Lambda::Function' && attribute === 'Arn') return functionArn(id);
    return fail(`The attribute ${attribute} of ${logicalId} (${type}) is not supported by cdk-offline`);
  }
}

const nothing: Surroundings = {
  exported: (name) => fail(`No stack exports ${name}`),
  output: (stackName) => fail(`There is no stack ${stackName}`),
  nestedTemplate: () => undefined,
};

function noTemplate(logicalId: string): never {
  return fail(`The template of the nested stack ${logicalId} is not in the assembly`);
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  return typeof value === 'object' && value !== null && name in value ? Reflect.get(value, name) : undefined;
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

function parameterValue(
  name: string,
  { Type, Default }: Template['Parameters'][string],
  given: Json | undefined,
): Json {
  const value = given ?? Default;
  if (value === undefined)
    return fail(`The parameter ${name} has no default: set it with --parameter ${name}=VALUE`);
  if (Type.startsWith('AWS::SSM::') && given === undefined) {
    return fail(
      `The parameter ${name} is read from Systems Manager, which is not supported by cdk-offline: set it with --parameter ${name}=VALUE`,
    );
  }
  if ((Type === 'CommaDelimitedList' || Type.includes('List<')) && typeof value === 'string') {
    return value.split(',').map((item) => item.trim());
  }
  return value;
}

function toText(value: Json | undefined, what: string): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : fail(`${what} must be text`);
}

function fail(message: string): never {
  throw new TemplateError(message);
}
