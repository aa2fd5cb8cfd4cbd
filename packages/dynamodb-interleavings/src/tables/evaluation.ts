import { invalid } from './errors.ts';
import type { Action, Assigned, Condition, Operand, Operator, Path } from './operands.ts';
import { bytes, equal, type Item, order, setOf, sum, typeOf, type Value } from './values.ts';

/** Whether a condition holds for an item. An item that does not exist has no attributes. */
export function holds(condition: Condition, item: Item): boolean {
  switch (condition.kind) {
    case 'and':
      return condition.parts.every((each) => holds(each, item));
    case 'or':
      return condition.parts.some((each) => holds(each, item));
    case 'not':
      return !holds(condition.parts[0]!, item);
    case 'test':
      return isTrue(condition.operator, ...condition.operands.map((each) => valueOf(each, item)));
  }
}

/** As in DynamoDB, what does not exist is unequal to everything, and no other comparison with it holds. */
function isTrue(operator: Operator, first?: Value, ...others: readonly (Value | undefined)[]): boolean {
  const [second] = others;
  if (operator === 'attribute_exists') return first !== undefined;
  if (operator === 'attribute_not_exists') return first === undefined;
  if (operator === '<>') return !isTrue('=', first, second);
  if (operator === 'IN') return others.some((each) => isTrue('=', first, each));
  if (operator === 'BETWEEN') return isTrue('>=', first, second) && isTrue('<=', first, others[1]);
  if (first === undefined || second === undefined) return false;
  // NaN: DynamoDB does not order the two.
  const compared = order(first, second) ?? NaN;
  switch (operator) {
    case '=':
      return equal(first, second);
    case '<':
      return compared < 0;
    case '<=':
      return compared <= 0;
    case '>':
      return compared > 0;
    case '>=':
      return compared >= 0;
    case 'attribute_type':
      return typeOf(first) === second.S;
    case 'begins_with':
      if (first.B !== undefined && second.B !== undefined)
        return bytes(first.B).subarray(0, bytes(second.B).length).equals(bytes(second.B));
      return second.S !== undefined && first.S?.startsWith(second.S) === true;
    case 'contains':
      if (first.L !== undefined) return first.L.some((each) => equal(each, second));
      if (first.S !== undefined) return second.S !== undefined && first.S.includes(second.S);
      if (first.B !== undefined) return second.B !== undefined && bytes(first.B).includes(bytes(second.B));
      return (
        typeOf(first) === `${typeOf(second)}S` && setOf(first)!.includes(Object.values(second)[0] as string)
      );
  }
}

function valueOf(operand: Operand, item: Item): Value | undefined {
  if (operand.kind === 'value') return operand.value;
  if (operand.kind === 'path') return at(item, operand.path);
  const value = valueOf(operand.of, item);
  const size = value && sizeOf(value);
  return size === undefined ? undefined : { N: String(size) };
}

function sizeOf(value: Value): number | undefined {
  if (value.S !== undefined) return value.S.length;
  if (value.B !== undefined) return bytes(value.B).length;
  if (value.M !== undefined) return Object.keys(value.M).length;
  return (value.L ?? setOf(value))?.length;
}

function at(item: Item, path: Path): Value | undefined {
  return path.reduce<Value | undefined>(
    (value, segment) => (typeof segment === 'number' ? value?.L?.[segment] : value?.M?.[segment]),
    { M: item },
  );
}

/** The parts of an item that paths lead to. */
export function project(item: Item, paths: readonly Path[]): Item {
  const groups = Map.groupBy(
    paths.filter((path) => at(item, path) !== undefined),
    ([segment]) => segment!,
  );
  return Object.fromEntries(
    [...groups].map(([name, all]) => [
      name,
      part(
        item[name]!,
        all.map((path) => path.slice(1)),
      ),
    ]),
  );
}

function part(value: Value, paths: readonly Path[]): Value {
  if (paths.some((path) => path.length === 0)) return value;
  if (value.M !== undefined) return { M: project(value.M, paths) };
  const groups = [...Map.groupBy(paths, ([segment]) => segment as number)].toSorted(([a], [b]) => a - b);
  return {
    L: groups.map(([index, all]) =>
      part(
        value.L![index]!,
        all.map((path) => path.slice(1)),
      ),
    ),
  };
}

type Container = { L: Value[] } | { M: Record<string, Value> };

/** The item after an update. Every operand has the value from before. */
export function updated(item: Item, actions: readonly Action[]): Item {
  const result = structuredClone(item) as Record<string, Value>;
  const sets: [Path, Value][] = [];
  const removals: Path[] = [];
  for (const action of actions) {
    const { path } = action;
    const old = at(item, path);
    if (action.kind === 'SET') sets.push([path, assigned(action.value, item)]);
    else if (action.kind === 'REMOVE') removals.push(path);
    else if (action.kind === 'ADD') sets.push([path, added(old, action.value)]);
    else {
      const value = old && without(old, action.value);
      if (value === undefined) removals.push(path);
      else sets.push([path, value]);
    }
  }
  const lastIndex = (path: Path) => Number(path.at(-1));
  // Elements are appended in the order of their indexes, and removed by the indexes that they had.
  for (const [path, value] of sets.toSorted(([a], [b]) => lastIndex(a) - lastIndex(b) || 0))
    set(result, path, value);
  for (const path of removals.toSorted((a, b) => lastIndex(b) - lastIndex(a) || 0)) remove(result, path);
  return result;
}

function container(item: Record<string, Value>, path: Path): Container {
  const value = at(item, path.slice(0, -1));
  if (typeof path.at(-1) === 'number' ? value?.L === undefined : value?.M === undefined)
    invalid('The document path provided in the update expression is invalid for update');
  return value as Container;
}

function set(item: Record<string, Value>, path: Path, value: Value): void {
  const parent = container(item, path);
  if ('L' in parent) parent.L[Math.min(path.at(-1) as number, parent.L.length)] = value;
  else parent.M[path.at(-1) as string] = value;
}

function remove(item: Record<string, Value>, path: Path): void {
  const parent = container(item, path);
  if ('L' in parent) parent.L.splice(path.at(-1) as number, 1);
  else delete parent.M[path.at(-1) as string];
}

function assigned(value: Assigned, item: Item): Value {
  if (!('operands' in value))
    return (
      valueOf(value, item) ??
      invalid('The provided expression refers to an attribute that does not exist in the item')
    );
  // DynamoDB needs the value of the second operand in any case.
  const [first, right] = [value.operands[0], assigned(value.operands[1], item)];
  if (value.kind === 'if_not_exists') return (first.kind === 'path' && at(item, first.path)) || right;
  const left = assigned(first, item);
  if (value.kind === 'list_append') {
    if (left.L === undefined || right.L === undefined) wrongType();
    return { L: [...left.L, ...right.L] };
  }
  if (left.N === undefined || right.N === undefined) wrongType();
  return { N: sum(left.N, right.N, value.kind) };
}

function added(old: Value | undefined, value: Value): Value {
  if (value.N !== undefined) {
    if (old !== undefined && old.N === undefined) wrongType();
    return { N: sum(old?.N ?? '0', value.N) };
  }
  if (old !== undefined && typeOf(old) !== typeOf(value)) wrongType();
  return { [typeOf(value)]: [...new Set([...(old ? setOf(old)! : []), ...setOf(value)!])] };
}

/** Undefined if nothing is left. */
function without(old: Value, value: Value): Value | undefined {
  if (typeOf(old) !== typeOf(value)) wrongType();
  const left = setOf(old)!.filter((each) => !setOf(value)!.includes(each));
  return left.length === 0 ? undefined : { [typeOf(value)]: left };
}

function wrongType(): never {
  invalid('An operand in the update expression has an incorrect data type');
}
