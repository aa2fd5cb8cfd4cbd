import type { Item, Tables } from 'dynamodb-interleavings';
import { tableShapes } from '../support/table-shapes.ts';

/** A write that the tables have got. */
interface Evaluation {
  /** Its items when its conditions were evaluated, and after it, in the order in which it names them. */
  readonly before: readonly (Item | undefined)[];
  readonly after: readonly (Item | undefined)[];
  /** Whether it was not refused. */
  readonly isWritten: boolean;
}

/** What was noted of each call, by its input. */
export type Evaluations = ReadonlyMap<object, Evaluation>;

interface Put {
  readonly TableName: string;
  readonly Item: Item;
}
interface Write extends Put {
  readonly Key: Item;
  readonly TransactItems: readonly { readonly Put: Put }[];
}

const keyNames = new Map(
  tableShapes.map(({ TableName, KeySchema }) => [TableName, KeySchema[0]!.AttributeName!]),
);

/** From now on notes what the writes of functions meet and leave in the tables. */
export function noteEvaluations(tables: Tables): Evaluations {
  const evaluations = new Map<object, Evaluation>();
  const call = tables.call.bind(tables);
  const itemOf = (TableName: string, Key: Item) =>
    (call('GetItem', { TableName, Key }) as { readonly Item?: Item }).Item;
  const itemsOf = (operation: string, input: Write): (Item | undefined)[] => {
    const ofPut = ({ TableName, Item }: Put) => {
      const name = keyNames.get(TableName)!;
      return itemOf(TableName, { [name]: Item[name]! });
    };
    if (operation === 'UpdateItem') return [itemOf(input.TableName, input.Key)];
    if (operation === 'PutItem') return [ofPut(input)];
    return input.TransactItems.flatMap(({ Put: put }) => (put === undefined ? [] : [ofPut(put)]));
  };
  let isTried = false;
  for (const name of ['writes', 'refuses'] as const) {
    const tryOut = tables[name].bind(tables);
    tables[name] = (operation, input) => {
      isTried = true;
      const result = tryOut(operation, input);
      isTried = false;
      return result;
    };
  }
  tables.call = (operation, input, reading) => {
    if (isTried || !/^(UpdateItem|PutItem|TransactWriteItems)$/.test(operation))
      return call(operation, input, reading);
    const before = itemsOf(operation, input as Write);
    const note = (isWritten: boolean) =>
      evaluations.set(input, { before, after: itemsOf(operation, input as Write), isWritten });
    try {
      const answer = call(operation, input, reading);
      note(true);
      return answer;
    } catch (error) {
      note(false);
      throw error;
    }
  };
  return evaluations;
}
