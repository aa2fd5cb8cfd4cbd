/**
 * CloudFormation's intrinsic functions. Those that need an AWS account are rejected with their name.
 *
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/intrinsic-function-reference.html
 */

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Looks up what intrinsic functions refer to. Each function throws TemplateError when it does not exist. */
export interface Scope {
  /** @returns `undefined` for AWS::NoValue */
  readonly ref: (name: string) => Json | undefined;
  readonly getAtt: (logicalId: string, attribute: string) => Json;
  readonly condition: (name: string) => Json;
  readonly exported: (name: string) => Json;
  readonly output: (stackName: string, outputName: string) => Json;
  readonly mapping: (name: string, first: string, second: string) => Json;
}

export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

/**
 * Replaces every intrinsic function in a value by its result. Properties and list items that are AWS::NoValue are
 * omitted.
 *
 * @returns `undefined` when the whole value is AWS::NoValue
 * @throws TemplateError for a function that is malformed or not supported
 */
export function resolve(value: Json, scope: Scope): Json | undefined {
  if (isList(value)) return value.map((item) => resolve(item, scope)).filter((item) => item !== undefined);
  if (!isObject(value)) return typeof value === 'string' ? rejectDynamicReference(value) : value;
  const [[name, argument] = [], ...others] = Object.entries(value);
  if (
    name !== undefined &&
    argument !== undefined &&
    others.length === 0 &&
    /^(?:Ref|Condition|Fn::.*)$/.test(name)
  ) {
    return call(name, argument, scope);
  }
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => {
      const resolved = resolve(item, scope);
      return resolved === undefined ? [] : [[key, resolved]];
    }),
  );
}

function call(name: string, argument: Json, scope: Scope): Json | undefined {
  const fail = (why: string): never => {
    throw new TemplateError(`${name} ${why}: ${JSON.stringify(argument)}`);
  };
  const resolved = (value: Json | undefined): Json =>
    (value === undefined ? undefined : resolve(value, scope)) ?? fail('needs another argument');
  const text = (value: Json | undefined): string => {
    const result = resolved(value);
    return isScalar(result) ? String(result) : fail('needs text');
  };
  const list = (value: Json | undefined): readonly Json[] => {
    const result = resolved(value);
    return isList(result) ? result : fail('needs a list');
  };
  const truth = (value: Json | undefined): boolean => text(value) === 'true';
  const parts = isList(argument) ? argument : [];

  switch (name) {
    case 'Ref':
      return scope.ref(text(argument));
    case 'Condition':
      return scope.condition(text(argument));
    case 'Fn::GetAtt': {
      const [logicalId, ...attribute] = typeof argument === 'string' ? argument.split('.') : parts;
      return scope.getAtt(text(logicalId), attribute.map((part) => text(part)).join('.'));
    }
    case 'Fn::ImportValue':
      return scope.exported(text(argument));
    case 'Fn::GetStackOutput': {
      const { StackName, OutputName } = isObject(argument) ? argument : {};
      return scope.output(text(StackName), text(OutputName));
    }
    case 'Fn::Join':
      return list(parts[1])
        .map((part) => text(part))
        .join(text(parts[0]));
    case 'Fn::Sub':
      return substitute(argument, scope, fail);
    case 'Fn::Select':
      return list(parts[1])[Number(text(parts[0]))] ?? fail('has an index beyond the list');
    case 'Fn::Split':
      return text(parts[1]).split(text(parts[0]));
    case 'Fn::Base64':
      return Buffer.from(text(argument)).toString('base64');
    case 'Fn::FindInMap':
      return scope.mapping(text(parts[0]), text(parts[1]), text(parts[2]));
    case 'Fn::If': {
      const [condition, whenTrue, whenFalse] = parts;
      const branch = truth(scope.condition(text(condition))) ? whenTrue : whenFalse;
      return branch === undefined ? fail('needs two branches') : resolve(branch, scope);
    }
    case 'Fn::Equals':
      return JSON.stringify(resolved(parts[0])) === JSON.stringify(resolved(parts[1]));
    case 'Fn::And':
      return parts.every((part) => truth(part));
    case 'Fn::Or':
      return parts.some((part) => truth(part));
    case 'Fn::Not':
      return !truth(parts[0]);
    default:
      return fail('is not supported by cdk-offline');
  }
}

/** `${Name}`, `${Resource.Attribute}`, and `${!Literal}`, which becomes `${Literal}`. */
function substitute(argument: Json, scope: Scope, fail: (why: string) => never): Json {
  const [template, variables = {}] = isList(argument) ? argument : [argument];
  if (typeof template !== 'string' || !isObject(variables)) return fail('needs a template');
  return template.replaceAll(/\$\{([^}]*)\}/g, (_, name: string) => {
    if (name.startsWith('!')) return `\${${name.slice(1)}}`;
    const own = variables[name];
    const reference = name.includes('.') ? { 'Fn::GetAtt': name } : { Ref: name };
    const value = resolve(own ?? reference, scope);
    return isScalar(value) ? String(value) : fail(`needs text for ${name}`);
  });
}

function rejectDynamicReference(text: string): string {
  if (/\{\{resolve:/.test(text))
    throw new TemplateError(`Dynamic references are not supported by cdk-offline: ${text}`);
  return text;
}

function isScalar(value: Json | undefined): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

function isObject(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
