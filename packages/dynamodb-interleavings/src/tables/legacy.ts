import { invalid } from './errors.ts';
import { type Condition, type Operator, tested } from './parser.ts';
import { normalize, type Type, typeOf, type Value } from './values.ts';

/*
 * The parameters of reads that expressions have replaced.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LegacyConditionalParameters.html
 */

interface Comparison {
  readonly ComparisonOperator?: string;
  readonly AttributeValueList?: readonly Value[];
}
/** By attribute. */
type Comparisons = Readonly<Record<string, Comparison>>;

export interface Legacy {
  readonly AttributesToGet?: readonly string[];
  readonly KeyConditions?: Comparisons;
  readonly QueryFilter?: Comparisons;
  readonly ScanFilter?: Comparisons;
  readonly ConditionalOperator?: 'AND' | 'OR';
}

const scalars: readonly Type[] = ['S', 'N', 'B', 'BOOL', 'NULL'];
/** The operators of expressions, how many values they have, and of which types if not the same as there. */
const operators: Readonly<Record<string, readonly [Operator, values: number, of?: readonly Type[]]>> = {
  EQ: ['=', 1],
  NE: ['<>', 1],
  LT: ['<', 1],
  LE: ['<=', 1],
  GT: ['>', 1],
  GE: ['>=', 1],
  NOT_NULL: ['attribute_exists', 0],
  NULL: ['attribute_not_exists', 0],
  CONTAINS: ['contains', 1, scalars],
  NOT_CONTAINS: ['contains', 1, scalars],
  BEGINS_WITH: ['begins_with', 1],
  IN: ['IN', Infinity, ['S', 'N', 'B']],
  BETWEEN: ['BETWEEN', 2],
};

/** @throws Refusal of an input that has expressions, too */
export function refuseMixed(input: object, legacy: readonly (keyof Legacy)[]): void {
  const names = Object.entries(input).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  const old = names.filter((name) => legacy.includes(name as keyof Legacy));
  if (old.length > 0 && names.some((name) => /Expression/.test(name)))
    invalid('Can not use both expression and non-expression parameters in the same request');
}

/** @param joined how the comparisons of several attributes are */
export function conditionOf(all: Comparisons, joined?: 'AND' | 'OR'): Condition | undefined {
  const parts = Object.entries(all).map(([name, each]) => comparisonOf(name, each));
  if (joined !== undefined && parts.length < 2)
    invalid('ConditionalOperator can only be used when Filter has two or more elements');
  return parts.length === 0 ? undefined : { kind: joined === 'OR' ? 'or' : 'and', parts };
}

function comparisonOf(
  name: string,
  { ComparisonOperator: operator, AttributeValueList: list }: Comparison,
): Condition {
  const [kind, count, types] =
    operators[operator ?? ''] ?? invalid(`ComparisonOperator is not valid: ${operator}`);
  const values = (list ?? []).map((each) => normalize(each));
  if (count === Infinity ? values.length === 0 : values.length !== count)
    invalid(`Invalid number of argument(s) for the ${operator} ComparisonOperator`);
  for (const each of values)
    if (types?.includes(typeOf(each)) === false || typeOf(each) !== typeOf(values[0]!))
      invalid(`ComparisonOperator ${operator} is not valid for ${typeOf(each)} AttributeValue type`);
  const path = { kind: 'path', path: [name] } as const;
  const condition = tested(kind, [path, ...values.map((value) => ({ kind: 'value', value }) as const)]);
  if (operator !== 'NOT_CONTAINS') return condition;
  const exists = tested('attribute_exists', [path]);
  return { kind: 'and', parts: [exists, { kind: 'not', parts: [condition] }] };
}
