import type { Footprint } from '../footprint.ts';
import { invalid, Refusal } from './errors.ts';
import { holds, updated } from './evaluation.ts';
import type { Input, Write } from './input.ts';
import type { Action } from './operands.ts';
import { Expressions } from './parser.ts';
import { pathsOf } from './paths.ts';
import type { Table } from './table.ts';
import { type Item, normalized } from './values.ts';

/** A write of which the expressions are parsed. */
export interface Parsed {
  readonly tableName: string;
  /** @throws Refusal of what is wrong whatever the item is */
  readonly on: (table: Table) => Prepared;
}

/** A write that is checked but for what depends on the stored item. */
export interface Prepared {
  readonly table: Table;
  readonly id: string;
  /** Its table and ID. */
  readonly place: string;
  readonly actions: readonly Action[];
  /** The item after it. @throws Refusal if the condition fails, or the update does not fit the item */
  readonly decide: (old: Item | undefined) => Item | undefined;
}

/** DynamoDB parses all expressions of a call before it looks for the tables. @throws Refusal of what it cannot parse */
export function parse(kind: Write, input: Input, footprint: () => Footprint): Parsed {
  const expressions = new Expressions(input);
  const { ConditionExpression: test, UpdateExpression: update } = input;
  const { ReturnValuesOnConditionCheckFailure: returned } = input;
  const parsed = test === undefined ? undefined : expressions.condition(test);
  const actions = update === undefined ? [] : expressions.parse(update, (parser) => parser.update());
  expressions.end();
  if (kind === 'ConditionCheck' && parsed === undefined) invalid('A ConditionExpression is required');
  const put = kind === 'Put' ? normalized(input.Item) : undefined;
  const key = put ?? normalized(input.Key);
  const decide = (table: Table, id: string, old: Item | undefined): Item | undefined => {
    footprint().add(`${table.name} ${id}`, 'read');
    if (put) table.checkIndexKeys(put);
    if (parsed && !holds(parsed, old ?? {})) {
      const shown = returned === 'ALL_OLD' && old !== undefined && { Item: old };
      throw new Refusal('ConditionalCheckFailedException', 'The conditional request failed', { ...shown });
    }
    if (kind === 'Delete') return undefined;
    if (kind === 'ConditionCheck') return old;
    for (const { path } of actions)
      if (table.isKey(path[0]))
        invalid(`Cannot update attribute ${path[0]}. This attribute is part of the key`);
    // What only removes makes no item.
    if (old === undefined && actions.length > 0 && actions.every((each) => each.kind === 'REMOVE'))
      return undefined;
    const item = put ?? updated(old ?? key, actions);
    table.checkIndexKeys(item);
    return item;
  };
  const on = (table: Table): Prepared => {
    const id = put ? table.idOf(key) : table.idOfKey(key);
    if (parsed) table.checkPaths(pathsOf(parsed));
    return { table, id, place: `${table.name} ${id}`, actions, decide: (old) => decide(table, id, old) };
  };
  return { tableName: input.TableName, on };
}
