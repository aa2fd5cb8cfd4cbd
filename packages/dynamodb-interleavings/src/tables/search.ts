import type { Footprint } from '../footprint.ts';
import { invalid } from './errors.ts';
import { holds, project } from './evaluation.ts';
import type { Input } from './input.ts';
import type { Condition, Operator } from './operands.ts';
import { Expressions } from './parser.ts';
import { pathsOf, projectionOf, refuseMixed } from './paths.ts';
import { type Index, type KeyAttribute, refuseEmptyKey } from './schema.ts';
import { itemAt, type Reading, type Table } from './table.ts';
import { type Item, normalized, order, typeOf } from './values.ts';

/** The answer of a query or scan. */
export function search(
  operation: 'Query' | 'Scan',
  input: Input,
  reading: Reading,
  tableOf: (name: string) => Table,
  footprint: Footprint,
): object {
  const { fit = Infinity } = reading;
  const table = tableOf(input.TableName);
  const index = input.IndexName === undefined ? undefined : table.index(input.IndexName);
  const { keys } = index ?? table;
  const { Limit: limit = Infinity, Select: select, ExclusiveStartKey: start } = input;
  if (index?.isLocal === false && input.ConsistentRead === true)
    invalid('Consistent reads are not supported on global secondary indexes');
  refuseMixed([input]);
  const expressions = new Expressions(input);
  const keyCondition = operation === 'Query' ? keyConditionOf(input, expressions, keys) : undefined;
  const filter =
    input.FilterExpression === undefined ? undefined : expressions.condition(input.FilterExpression);
  if (filter) table.checkPaths(pathsOf(filter));
  if (operation === 'Query' && filter)
    for (const path of pathsOf(filter))
      if (keys.some(({ name }) => name === path[0]))
        invalid('Filter Expression can only contain non-primary key attributes');
  const paths = projectionOf(input, expressions);
  expressions.end();
  if (paths) table.checkPaths(paths);
  checkSelect(select, index, paths !== undefined);
  const keyNames = [...new Set([...table.keys, ...keys].map(({ name }) => name))];
  const names =
    index === undefined || index.projected === 'ALL' ? undefined : [...keyNames, ...index.projected];
  const needed = [...(filter ? pathsOf(filter) : []), ...(index?.isLocal === false ? (paths ?? []) : [])];
  if (names && needed.some(([name]) => !names.includes(String(name))))
    invalid(`Secondary index ${input.IndexName} does not project one or more attributes of the expressions`);
  const [partitionKey, sortKey] = keys.map(({ name }) => name) as [string, string?];
  // A scan, too, has the items of a partition in their order. The order of partitions is any.
  const compare = (a: Item, b: Item): number => {
    const compared =
      alphabetically(JSON.stringify(a[partitionKey]), JSON.stringify(b[partitionKey])) ||
      (sortKey === undefined ? 0 : order(a[sortKey]!, b[sortKey]!)!) ||
      alphabetically(table.idOf(a), table.idOf(b));
    return compared * (input.ScanIndexForward === false ? -1 : 1);
  };
  const from = start && normalized(start);
  if (from) {
    const isKey =
      Object.keys(from).length === keyNames.length && keyNames.every((name) => from[name] !== undefined);
    if (!isKey) invalid('The provided starting key is invalid');
    table.idOf(from);
    table.checkIndexKeys(from);
    if (keyCondition && !holds(keyCondition.partition, from))
      invalid('The provided starting key is outside query boundaries');
  }
  const { partition } = keyCondition ?? {};
  const key = index === undefined && partition?.kind === 'test' ? partition.operands[1] : undefined;
  footprint.add(key?.kind === 'value' ? table.partition(key.value) : table.name, 'read');
  const candidates = [...table.histories.values()]
    .flatMap((versions) => {
      const { item: first } = versions.find(({ item }) => item !== undefined) ?? {};
      if (first === undefined) return [];
      const item =
        input.ConsistentRead === true
          ? versions.at(-1)!.item
          : itemAt(versions, keyOf(table, first), reading);
      return item === undefined ? [] : [item];
    })
    .filter((item) => keys.every(({ name }) => item[name] !== undefined))
    .filter((item) => keyCondition === undefined || holds(keyCondition.all, item))
    .filter((item) => from === undefined || compare(item, from) > 0)
    .toSorted(compare);
  const page = candidates.slice(0, Math.min(limit, fit));
  const last = page.at(-1);
  // DynamoDB does not look further than the limit.
  const more = last !== undefined && (page.length === limit || page.length < candidates.length);
  const fetched = (item: Item) =>
    names && !(index!.isLocal && select === 'ALL_ATTRIBUTES') ? pick(item, names) : item;
  const found = page.map(fetched).filter((item) => filter === undefined || holds(filter, item));
  return {
    ...(select !== 'COUNT' && { Items: paths ? found.map((item) => project(item, paths)) : found }),
    Count: found.length,
    ScannedCount: page.length,
    ...(more && { LastEvaluatedKey: pick(last, keyNames) }),
  };
}

function alphabetically(a: string, b: string): number {
  return a < b ? -1 : Number(a !== b);
}

function keyOf(table: Table, item: Item): Item {
  return pick(
    item,
    table.keys.map(({ name }) => name),
  );
}

function pick(item: Item, names: readonly string[]): Item {
  return Object.fromEntries(names.flatMap((name) => (item[name] === undefined ? [] : [[name, item[name]]])));
}

function checkSelect(select: string | undefined, index: Index | undefined, isProjected: boolean): void {
  if (isProjected && select !== undefined && select !== 'SPECIFIC_ATTRIBUTES')
    invalid(`Cannot specify the ProjectionExpression when choosing to get ${select}`);
  if (select === 'SPECIFIC_ATTRIBUTES' && !isProjected) invalid('Must specify the ProjectionExpression');
  if (select === 'ALL_PROJECTED_ATTRIBUTES' && !index)
    invalid('ALL_PROJECTED_ATTRIBUTES can be used only with an index');
  if (select === 'ALL_ATTRIBUTES' && index?.isLocal === false && index.projected !== 'ALL')
    invalid('Select type ALL_ATTRIBUTES is not supported for this global secondary index');
}

/** https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.KeyConditionExpressions.html */
function keyConditionOf(
  { KeyConditionExpression: text }: Input,
  expressions: Expressions,
  [partition, sort]: readonly KeyAttribute[],
): { readonly all: Condition; readonly partition: Condition } {
  if (text === undefined) invalid('The KeyConditions or KeyConditionExpression parameter must be specified');
  const all = expressions.condition(text);
  const parts = conjuncts(all);
  const on = (key: KeyAttribute | undefined) =>
    parts.filter((part) => key !== undefined && isOnKey(part, key));
  const [first, ...others] = on(partition);
  const isEquality = first?.kind === 'test' && first.operator === '=';
  if (first === undefined || !isEquality)
    invalid(`Query condition missed key schema element: ${partition!.name}`);
  if (others.length > 0 || on(sort).length > 1 || on(sort).length + 1 < parts.length)
    invalid('Query key condition not supported');
  return { all, partition: first };
}

function conjuncts(each: Condition): readonly Condition[] {
  return each.kind === 'and' ? each.parts.flatMap(conjuncts) : [pathFirst(each)];
}

const mirrored: Readonly<Partial<Record<Operator, Operator>>> = {
  '=': '=',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
};

/** `:v < s` as `s > :v`. */
function pathFirst(each: Condition): Condition {
  if (each.kind !== 'test') return each;
  const operator = mirrored[each.operator];
  const [first, second] = each.operands;
  const isSwapped = operator !== undefined && first?.kind === 'value' && second?.kind === 'path';
  return isSwapped ? { kind: 'test', operator, operands: [second, first] } : each;
}

/** Whether a condition is one that a query can have on a key. */
function isOnKey(part: Condition, key: KeyAttribute): boolean {
  if (part.kind !== 'test') return false;
  const [first, ...values] = part.operands;
  if (first?.kind !== 'path' || first.path.length > 1 || first.path[0] !== key.name) return false;
  const isKnown =
    ['=', '<', '<=', '>', '>=', 'BETWEEN'].includes(part.operator) ||
    (part.operator === 'begins_with' && key.type !== 'N');
  for (const each of values)
    if (!isKnown || each.kind !== 'value') invalid('Query key condition not supported');
    else if (typeOf(each.value) !== key.type)
      invalid(
        'One or more parameter values were invalid: Condition parameter type does not match schema type',
      );
    else if (part.operator === '=') refuseEmptyKey(key.name, each.value);
  return isKnown || invalid('Query key condition not supported');
}
