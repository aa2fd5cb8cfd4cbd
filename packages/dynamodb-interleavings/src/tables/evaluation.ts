import { invalid } from './errors.ts';
import type { Action, Assigned, Comparator, Condition, Operand, Path } from './parser.ts';
import { bytes, equal, type Item, order, setOf, sum, typeOf, type Value } from './values.ts';

/** Whether a condition holds for an item. An item that does not exist has no attributes. */
export function holds(condition: Condition, item: Item): boolean {
  switch (condition.kind) {
    case 'and':
      return holds(condition.left, item) && holds(condition.right, item);
    case 'or':
      return holds(condition.left, item) || holds(condition.right, item);
    case 'not':
      return !holds(condition.condition, item);
    case 'compare':
      return compare(valueOf(condition.left, item), condition.comparator, valueOf(condition.right, item));
    case 'between': {
      const [value, low, high] = [condition.operand, condition.low, condition.high].map((each) =>
        valueOf(each, item),
      );
      return compare(value, '>=', low) && compare(value, '<=', high);
    }
    case 'in':
      return condition.among.some((each) =>
        compare(valueOf(condition.operand, item), '=', valueOf(each, item)),
      );
    case 'call':
      return call(condition, item);
  }
}

/** As in DynamoDB, what does not exist is unequal to everything, and no other comparison with it holds. */
function compare(left: Value | undefined, comparator: Comparator, right: Value | undefined): boolean {
  if (comparator === '<>') return !compare(left, '=', right);
  if (left === undefined || right === undefined) return false;
  if (comparator === '=') return equal(left, right);
  const compared = order(left, right);
  if (compared === undefined) return false;
  return comparator.startsWith('<')
    ? compared < 0 || (comparator === '<=' && compared === 0)
    : compared > 0 || (comparator === '>=' && compared === 0);
}

function call({ name, ...operands }: Extract<Condition, { kind: 'call' }>, item: Item): boolean {
  const first = valueOf(operands.first, item);
  const second = operands.second && valueOf(operands.second, item);
  switch (name) {
    case 'attribute_exists':
      return first !== undefined;
    case 'attribute_not_exists':
      return first === undefined;
    case 'attribute_type':
      return first !== undefined && typeOf(first) === second?.S;
    case 'begins_with':
      if (first?.B !== undefined && second?.B !== undefined)
        return bytes(first.B).subarray(0, bytes(second.B).length).equals(bytes(second.B));
      return second?.S !== undefined && first?.S?.startsWith(second.S) === true;
    case 'contains':
      if (first === undefined || second === undefined) return false;
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
  switch (value.kind) {
    case 'if_not_exists': {
      // DynamoDB needs the value of the second operand in any case.
      const otherwise = assigned(value.otherwise, item);
      return at(item, value.path) ?? otherwise;
    }
    case 'sum': {
      const [left, right] = [assigned(value.left, item), assigned(value.right, item)];
      if (left.N === undefined || right.N === undefined) wrongType();
      return { N: sum(left.N, right.N, value.sign) };
    }
    case 'list_append': {
      const [left, right] = [assigned(value.left, item), assigned(value.right, item)];
      if (left.L === undefined || right.L === undefined) wrongType();
      return { L: [...left.L, ...right.L] };
    }
    case 'path':
    case 'size':
    case 'value':
      return (
        valueOf(value, item) ??
        invalid('The provided expression refers to an attribute that does not exist in the item')
      );
  }
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
