import { invalid } from './errors.ts';
import { order, type Type, typeOf, types, type Value } from './values.ts';

/* What expressions consist of, and what is wrong in it whatever the item is. */

/** Names of attributes and members, and indexes of lists. */
export type Path = readonly (string | number)[];

export type Operand =
  | { readonly kind: 'path'; readonly path: Path }
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'size'; readonly of: Operand };

export const comparators = ['=', '<>', '<', '<=', '>', '>='] as const;
/** The functions of conditions, and how many operands they have. */
export const functions = {
  attribute_exists: 1,
  attribute_not_exists: 1,
  attribute_type: 2,
  begins_with: 2,
  contains: 2,
} as const;
export type Operator = (typeof comparators)[number] | 'BETWEEN' | 'IN' | keyof typeof functions;

export type Condition =
  | { readonly kind: 'and' | 'or' | 'not'; readonly parts: readonly Condition[] }
  | { readonly kind: 'test'; readonly operator: Operator; readonly operands: readonly Operand[] };

/** What `SET` assigns. */
export type Assigned =
  | Operand
  | {
      readonly kind: '+' | '-' | 'if_not_exists' | 'list_append';
      readonly operands: readonly [Assigned, Assigned];
    };

export type Action =
  | { readonly kind: 'SET'; readonly path: Path; readonly value: Assigned }
  | { readonly kind: 'REMOVE'; readonly path: Path }
  | { readonly kind: 'ADD' | 'DELETE'; readonly path: Path; readonly value: Value };

/** @throws Refusal of an operand of a type that the operator does not take */
export function incorrect(operator: string, operand: Operand | Value): never {
  const type =
    'kind' in operand ? (operand.kind === 'value' ? typeOf(operand.value) : operand.kind) : typeOf(operand);
  invalid(
    `Incorrect operand type for operator or function; operator or function: ${operator}, operand type: ${type}`,
  );
}

export function misplaced(name: string): never {
  invalid(`The function is not allowed to be used this way in an expression; function: ${name}`);
}

export function miscounted(name: string): never {
  invalid(`Incorrect number of operands for operator or function; operator or function: ${name}`);
}

export function onlyOf(operator: string, operand: Assigned, allowed: readonly Type[]): void {
  if (operand.kind === 'value' && !allowed.includes(typeOf(operand.value))) incorrect(operator, operand);
}

export function onlyPath(operator: string, { kind }: Assigned): void {
  if (kind !== 'path')
    invalid(`Operator or function requires a document path; operator or function: ${operator}`);
}

export function refuseSame(operator: string, [first, ...others]: readonly Assigned[]): void {
  if (others.some((each) => each.kind === 'path' && JSON.stringify(each) === JSON.stringify(first)))
    invalid(`The first operand must be distinct from the remaining operands; operator: ${operator}`);
}

/** The condition, unless its operands are wrong whatever the item is. */
export function tested(operator: Operator, operands: readonly Operand[]): Condition {
  const [first, second, third] = operands as [Operand, Operand?, Operand?];
  refuseSame(operator, operands);
  switch (operator) {
    case 'attribute_exists':
    case 'attribute_not_exists':
      onlyPath(operator, first);
      break;
    case 'attribute_type':
      if (second!.kind !== 'value' || second!.value.S === undefined) incorrect(operator, second!);
      if (!types.includes(second!.value.S as Type))
        invalid(`Invalid attribute type name found; type: ${second!.value.S}`);
      break;
    case 'begins_with':
      for (const each of operands)
        if (each.kind === 'size') incorrect(operator, each);
        else onlyOf(operator, each, ['S', 'B']);
      break;
    case 'IN':
      if (operands.length > 101) invalid('The IN operator is provided with too many operands');
      break;
    case '<':
    case '<=':
    case '>':
    case '>=':
    case 'BETWEEN':
      for (const each of operands) onlyOf(operator, each, ['S', 'N', 'B']);
      if (second?.kind !== 'value' || third?.kind !== 'value') break;
      if (typeOf(second.value) !== typeOf(third.value))
        invalid('The BETWEEN operator requires same data type for lower and upper bounds');
      if (order(second.value, third.value)! > 0)
        invalid('The BETWEEN operator requires upper bound to be greater than or equal to lower bound');
      break;
    case '=':
    case '<>':
    case 'contains':
      break;
  }
  return { kind: 'test', operator, operands };
}

/** @throws Refusal if one path leads into another one, or needs another type of the same value */
export function refuseOverlaps(paths: readonly Path[]): void {
  for (const [index, path] of paths.entries())
    for (const other of paths.slice(0, index)) {
      const fork = path.findIndex((segment, at) => segment !== other[at]);
      if (fork === -1 || fork === other.length) invalid('Two document paths overlap with each other');
      if (typeof path[fork] !== typeof other[fork]) invalid('Two document paths conflict with each other');
    }
}
