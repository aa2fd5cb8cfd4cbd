/**
 * CloudFormation's intrinsic functions and pseudo parameters, as far as a template can be resolved without an
 * account. What cannot be resolved is refused by name.
 *
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/intrinsic-function-reference.html
 */

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** What a template's text refers to. Each may throw when it knows no such thing. */
export interface Scope {
  /** The value of `Ref`: a parameter, a pseudo parameter or a resource. `undefined` stands for AWS::NoValue. */
  readonly ref: (name: string) => Json | undefined;
  readonly getAtt: (logicalId: string, attribute: string) => Json;
  readonly condition: (name: string) => Json;
  readonly mapping: (name: string, first: string, second: string) => Json;
}

export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

/**
 * Replaces every intrinsic function in a value by what it stands for.
 *
 * @returns `undefined` where the value is AWS::NoValue; such properties and list items are left out
 * @throws TemplateError for a function that is unknown, malformed or of no use without an account
 */
export function resolve(value: Json, scope: Scope): Json | undefined {
  if (isList(value)) return value.map((item) => resolve(item, scope)).filter((item) => item !== undefined);
  if (!isObject(value)) return typeof value === 'string' ? refuseDynamicReference(value) : value;
  const [[name, argument] = [], ...others] = Object.entries(value);
  if (name !== undefined && argument !== undefined && others.length === 0 && isIntrinsic(name)) {
    return call(name, argument, scope);
  }
  const resolved: [string, Json][] = [];
  for (const [key, item] of Object.entries(value)) {
    const result = resolve(item, scope);
    if (result !== undefined) resolved.push([key, result]);
  }
  return Object.fromEntries(resolved);
}

function isIntrinsic(name: string): boolean {
  return name === 'Ref' || name === 'Condition' || name.startsWith('Fn::');
}

function call(name: string, argument: Json, scope: Scope): Json | undefined {
  const fail = (why: string): never => {
    throw new TemplateError(`${name} ${why}: ${JSON.stringify(argument)}`);
  };
  const resolved = (value: Json | undefined): Json =>
    (value === undefined ? undefined : resolve(value, scope)) ?? fail('lacks an argument');
  const text = (value: Json | undefined): string => {
    const result = resolved(value);
    return isScalar(result) ? String(result) : fail('wants text');
  };
  const list = (value: Json | undefined): readonly Json[] => {
    const result = resolved(value);
    return isList(result) ? result : fail('wants a list');
  };
  const truth = (value: Json | undefined): boolean => {
    const result = resolved(value);
    if (typeof result === 'boolean') return result;
    return result === 'true' || (result === 'false' ? false : fail('wants a condition'));
  };
  const parts = isList(argument) ? argument : [];

  switch (name) {
    case 'Ref':
      return scope.ref(typeof argument === 'string' ? argument : fail('wants a name'));
    case 'Condition':
      return scope.condition(typeof argument === 'string' ? argument : fail('wants a name'));
    case 'Fn::GetAtt': {
      const [logicalId, ...attribute] = typeof argument === 'string' ? argument.split('.') : parts;
      if (typeof logicalId !== 'string' || attribute.length === 0)
        return fail('wants a resource and an attribute');
      return scope.getAtt(logicalId, attribute.map((part) => text(part)).join('.'));
    }
    case 'Fn::Join':
      return list(parts[1])
        .map((part) => (isScalar(part) ? String(part) : fail('joins text')))
        .join(text(parts[0]));
    case 'Fn::Sub':
      return substitute(argument, scope, fail);
    case 'Fn::Select': {
      const index = Number(text(parts[0]));
      return list(parts[1])[index] ?? fail('selects beyond the list');
    }
    case 'Fn::Split':
      return text(parts[1]).split(text(parts[0]));
    case 'Fn::Base64':
      return Buffer.from(text(argument)).toString('base64');
    case 'Fn::FindInMap':
      return scope.mapping(text(parts[0]), text(parts[1]), text(parts[2]));
    case 'Fn::If': {
      const [condition, whenTrue, whenFalse] = parts;
      if (typeof condition !== 'string') return fail('wants a condition');
      const branch = truth(scope.condition(condition)) ? whenTrue : whenFalse;
      return branch === undefined ? fail('lacks a branch') : resolve(branch, scope);
    }
    case 'Fn::Equals':
      return JSON.stringify(resolved(parts[0])) === JSON.stringify(resolved(parts[1]));
    case 'Fn::And':
      return parts.every((part) => truth(part));
    case 'Fn::Or':
      return parts.some((part) => truth(part));
    case 'Fn::Not':
      return !truth(parts[0]);
    case 'Fn::ImportValue':
      return fail('needs the outputs of another stack, which cdk-offline does not run');
    default:
      return fail('is not supported by cdk-offline');
  }
}

/** `${Name}`, `${Resource.Attribute}`, and `${!Literal}`, which stands for `${Literal}`. */
function substitute(argument: Json, scope: Scope, fail: (why: string) => never): Json {
  const [template, variables = {}] = isList(argument) ? argument : [argument];
  if (typeof template !== 'string' || !isObject(variables)) return fail('wants a template');
  return template.replaceAll(/\$\{([^}]*)\}/g, (_, name: string) => {
    if (name.startsWith('!')) return `\${${name.slice(1)}}`;
    const own = variables[name];
    const value =
      own !== undefined
        ? resolve(own, scope)
        : name.includes('.')
          ? scope.getAtt(name.slice(0, name.indexOf('.')), name.slice(name.indexOf('.') + 1))
          : scope.ref(name);
    return isScalar(value) ? String(value) : fail(`substitutes ${name} with what is no text`);
  });
}

function refuseDynamicReference(text: string): string {
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
