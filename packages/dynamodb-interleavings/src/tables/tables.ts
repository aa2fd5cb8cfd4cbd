import { unmarshall } from '@aws-sdk/util-dynamodb';
import { Footprint } from '../footprint.ts';
import { cancelled, invalid, Refusal, Unsupported } from './errors.ts';
import { holds, project, updated } from './evaluation.ts';
import {
  type Action,
  type Condition,
  Expressions,
  type Operator,
  type Path,
  type Substitutes,
} from './parser.ts';
import { type Index, type KeyAttribute, Schema, type TableDefinition } from './schema.ts';
import { type Item, normalized, order, typeOf, type Value } from './values.ts';

/** What an item was from a time on. Undefined: it did not exist. */
export interface Version {
  readonly since: number;
  /** Of the write, among all writes of all tables. */
  readonly number: number;
  readonly item: Item | undefined;
}

export interface Reading {
  /** A read that is not consistent sees the items of this time, or each item of its own. Default: the latest. */
  readonly asOf?: number | ((key: Item) => number);
  /** It does not see these writes. */
  readonly misses?: ReadonlySet<number>;
  /** Items that fit in the answer of a query or scan, or that a batch gets to. */
  readonly fit?: number;
  /** Items of a batch that it has got to before. */
  readonly done?: number;
  /** Those of them that it has left out. */
  readonly left?: ReadonlySet<number>;
}

type Write = 'Put' | 'Update' | 'Delete' | 'ConditionCheck';

interface Input extends Substitutes {
  readonly TableName: string;
  readonly Key: Item;
  readonly Item: Item;
  readonly ConsistentRead?: boolean;
  readonly ConditionExpression?: string;
  readonly UpdateExpression?: string;
  readonly ProjectionExpression?: string;
  /** Legacy, but libraries still send it. */
  readonly AttributesToGet?: readonly string[];
  readonly KeyConditionExpression?: string;
  readonly FilterExpression?: string;
  readonly ReturnValues?: string;
  readonly ReturnValuesOnConditionCheckFailure?: string;
  readonly IndexName?: string;
  readonly Limit?: number;
  readonly ScanIndexForward?: boolean;
  readonly Select?: string;
  readonly ExclusiveStartKey?: Item;
}

interface TransactInput {
  readonly TransactItems: readonly Readonly<Record<string, Input>>[];
  readonly ClientRequestToken?: string;
}

interface BatchInput<Request> {
  readonly RequestItems: Readonly<Record<string, Request>>;
}
type WriteRequests = readonly { readonly PutRequest?: Input; readonly DeleteRequest?: Input }[];
type GetRequests = Input & { readonly Keys: readonly Item[] };

const read = 'ConsistentRead ProjectionExpression AttributesToGet ExpressionAttributeNames';
const condition =
  'ConditionExpression ExpressionAttributeNames ExpressionAttributeValues ReturnValuesOnConditionCheckFailure';
const search = `TableName IndexName Limit Select ExclusiveStartKey FilterExpression ExpressionAttributeValues ${read}`;
/** The members of inputs that are known. */
const members = {
  GetItem: `TableName Key ${read}`,
  PutItem: `TableName Item ReturnValues ${condition}`,
  UpdateItem: `TableName Key UpdateExpression ReturnValues ${condition}`,
  DeleteItem: `TableName Key ReturnValues ${condition}`,
  Query: `KeyConditionExpression ScanIndexForward ${search}`,
  Scan: search,
  TransactGetItems: 'TransactItems',
  TransactWriteItems: 'TransactItems ClientRequestToken',
  BatchGetItem: 'RequestItems',
  BatchWriteItem: 'RequestItems',
  Get: `TableName Key ${read}`,
  Put: `TableName Item ${condition}`,
  Update: `TableName Key UpdateExpression ${condition}`,
  Delete: `TableName Key ${condition}`,
  ConditionCheck: `TableName Key ${condition}`,
  PutRequest: 'Item',
  DeleteRequest: 'Key',
  'BatchGetItem of a table': `Keys ${read}`,
} as const;
export type Operation = Extract<keyof typeof members, `${string}Item` | `${string}Items` | 'Query' | 'Scan'>;

/** A write that is checked but for what depends on the stored item. */
interface Prepared {
  readonly table: Table;
  readonly id: string;
  /** Its table and ID. */
  readonly place: string;
  readonly actions: readonly Action[];
  /** The item after it. @throws Refusal if the condition fails, or the update does not fit the item */
  readonly decide: (old: Item | undefined) => Item | undefined;
}

/** https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html: ClientRequestToken */
const tokenLifetime = 600_000;

class Table extends Schema {
  readonly histories = new Map<string, Version[]>();

  latest(id: string): Item | undefined {
    return this.histories.get(id)?.at(-1)?.item;
  }

  /** Names a partition. */
  partition(key: Value | undefined): string {
    return `${this.name} ${JSON.stringify(key)}`;
  }
}

/** Tables in memory. They apply calls one after the other, and refuse by name what they do not know. */
export class Tables {
  /** What is read and written from now on. Whoever wants to know sets another one. */
  footprint = new Footprint();
  /** Whether a call that is only tried would have written. */
  #tried: { hasWritten: boolean } | undefined;
  readonly #tables: ReadonlyMap<string, Table>;
  readonly #tokens = new Map<string, { readonly input: string; readonly at: number }>();
  readonly #now: () => number;
  #writeCount = 0;

  /** @param now milliseconds since the Unix epoch, for versions, tokens and the time to live */
  constructor(definitions: readonly TableDefinition[], now: () => number = Date.now) {
    this.#tables = new Map(definitions.map((each) => [each.TableName!, new Table(each)]));
    this.#now = now;
  }

  /** Equal for tables with equal items. */
  get contents(): string {
    const items = [...this.#tables.values()].flatMap((table) =>
      [...table.histories.keys()].flatMap((id) => {
        const item = table.latest(id);
        return item === undefined ? [] : [[`${table.name} ${id}`, item] as const];
      }),
    );
    return JSON.stringify(items.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** The items of a table by their keys, as the document client returns them. */
  items(table: string): Record<string, unknown>[] {
    return this.versions(table).flatMap((versions) => {
      const item = versions.at(-1)!.item;
      return item === undefined ? [] : [unmarshall(item as never)];
    });
  }

  /** Every version of every item of a table, by their keys. */
  versions(table: string): readonly (readonly Version[])[] {
    this.footprint.add(table, 'read');
    const histories = [...this.#table(table).histories];
    return histories.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, versions]) => versions);
  }

  put(table: string, item: Item): void {
    this.call('PutItem', { TableName: table, Item: item });
  }

  delete(table: string, key: Item): void {
    this.call('DeleteItem', { TableName: table, Key: key });
  }

  /** Deletes what has expired. DynamoDB does so at some time within days. */
  expire(): void {
    for (const table of this.#tables.values()) {
      this.footprint.add(table.name, 'read');
      for (const [id, versions] of table.histories) {
        const expiry = table.timeToLive && versions.at(-1)?.item?.[table.timeToLive]?.N;
        if (expiry !== undefined && Number(expiry) * 1000 <= this.#now()) this.#set(table, id, undefined);
      }
    }
  }

  /** What a call writes: a text for each item. */
  written(operation: string, input: object): string[] {
    return this.#writes(operation, input).map(({ place }) => place);
  }

  /** The output of a call. Inputs and outputs as in the JSON of DynamoDB's protocol. @throws Refusal as DynamoDB does, Unsupported */
  call(operation: string, input: object, reading: Reading = {}): object {
    if (!Object.hasOwn(members, operation) || !/Items?$|Query|Scan/.test(operation))
      throw new Unsupported(`the operation ${operation}`);
    onlyKnown(operation as Operation, input);
    switch (operation as Operation) {
      case 'GetItem': {
        const item = this.#get(input as Input, reading);
        return item === undefined ? {} : { Item: item };
      }
      case 'PutItem':
      case 'UpdateItem':
      case 'DeleteItem':
        return this.#write(operation.slice(0, -4) as Write, input as Input);
      case 'Query':
      case 'Scan':
        return this.#search(operation as 'Query' | 'Scan', input as Input, reading);
      case 'TransactGetItems':
        return this.#transactGet(input as TransactInput);
      case 'TransactWriteItems':
        return this.#transactWrite(input as TransactInput);
      case 'BatchGetItem':
        return this.#batchGet(input as BatchInput<GetRequests>, reading);
      case 'BatchWriteItem':
        return this.#batchWrite(input as BatchInput<WriteRequests>, reading);
    }
  }

  /** Items of a batch. 0 for other calls. */
  sizeOf(input: object): number {
    const { RequestItems: requests = {} } = input as Partial<BatchInput<WriteRequests | GetRequests>>;
    return Object.values(requests).reduce((sum, each) => sum + ('Keys' in each ? each.Keys : each).length, 0);
  }

  /** How a table is paid for. Undefined: it can be either way. */
  billing(table: string): TableDefinition['BillingMode'] {
    return this.#tables.get(table)?.billing;
  }

  /** The table of each item of a transaction. */
  placesIn(input: object): string[] {
    const { TransactItems: items = [] } = input as Partial<TransactInput>;
    return items.map((each) => Object.values(each)[0]!.TableName);
  }

  /** The numbers of the writes after a time, of each item that a read looks at, the latest one first. */
  recentWrites(operation: string, input: object, time: number): number[][] {
    const before = this.footprint;
    const footprint = (this.footprint = new Footprint());
    this.call(operation, input);
    this.footprint = before.include(footprint);
    return [...this.#tables.values()].flatMap((table) =>
      [...table.histories].flatMap(([id, versions]) => {
        const recent = versions.filter(({ since }) => since > time).map(({ number }) => number);
        const names = [`${table.name} ${id}`, table.partition((JSON.parse(id) as Value[])[0]), table.name];
        return recent.length > 0 && footprint.reads(...names) ? [recent.toReversed()] : [];
      }),
    );
  }

  /** At how many items a page can end early. */
  pageSizes(operation: 'Query' | 'Scan', input: object): number[] {
    const { ScannedCount: count } = this.call(operation, input) as { ScannedCount: number };
    return Array.from({ length: Math.max(0, count - 1) }, (_, index) => index + 1);
  }

  /** Whether a call is refused as a whole. */
  refuses(operation: string, input: object): boolean {
    try {
      this.#trying(() => this.call(operation, input));
      return false;
    } catch (error) {
      if (error instanceof Refusal) return true;
      throw error;
    }
  }

  /** Whether a call writes. It does not if it is a read, if it is refused, or if it repeats a transaction that is done. */
  writes(operation: string, input: object): boolean {
    try {
      return this.#trying(() => this.call(operation, input));
    } catch {
      return false;
    }
  }

  /** Whether something would write. */
  #trying(call: () => void): boolean {
    const tried = (this.#tried = { hasWritten: false });
    try {
      call();
      return tried.hasWritten;
    } finally {
      this.#tried = undefined;
    }
  }

  #table(name: string): Table {
    const table = this.#tables.get(name);
    if (table) return table;
    throw new Refusal('ResourceNotFoundException', `Requested resource not found: Table: ${name} not found`);
  }

  #set(table: Table, id: string, item: Item | undefined): void {
    if (this.#tried) {
      this.#tried.hasWritten = true;
      return;
    }
    const versions = table.histories.get(id) ?? [];
    this.#writeCount += 1;
    versions.push({ since: this.#now(), number: this.#writeCount, item });
    table.histories.set(id, versions);
    this.footprint.add(`${table.name} ${id}`, 'write');
    this.footprint.add(table.partition((JSON.parse(id) as Value[])[0]), 'mark');
    this.footprint.add(table.name, 'mark');
  }

  #get(input: Input, reading: Reading): Item | undefined {
    const table = this.#table(input.TableName);
    const expressions = new Expressions(input);
    const paths = projectionOf(input, expressions, table);
    expressions.end();
    const key = normalized(input.Key);
    const id = table.idOfKey(key);
    this.footprint.add(`${table.name} ${id}`, 'read');
    const versions = table.histories.get(id) ?? [];
    const item = input.ConsistentRead === true ? versions.at(-1)?.item : itemAt(versions, key, reading);
    return item && paths ? project(item, paths) : item;
  }

  #prepare(kind: Write, input: Input): Prepared {
    const table = this.#table(input.TableName);
    const expressions = new Expressions(input);
    const { ConditionExpression: test, UpdateExpression: update } = input;
    const { ReturnValuesOnConditionCheckFailure: returned = 'NONE' } = input;
    if (returned !== 'NONE' && returned !== 'ALL_OLD')
      invalid(`Value '${returned}' at 'returnValuesOnConditionCheckFailure' is not one of ALL_OLD, NONE`);
    const parsed = test === undefined ? undefined : expressions.condition(test);
    const actions = update === undefined ? [] : expressions.parse(update, (parser) => parser.update());
    expressions.end();
    if (kind === 'ConditionCheck' && parsed === undefined) invalid('A ConditionExpression is required');
    const put = kind === 'Put' ? normalized(input.Item) : undefined;
    const key = put ?? normalized(input.Key);
    const id = put ? table.idOf(key) : table.idOfKey(key);
    if (parsed) table.checkPaths(pathsOf(parsed));
    const decide = (old: Item | undefined): Item | undefined => {
      this.footprint.add(`${table.name} ${id}`, 'read');
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
    return { table, id, place: `${table.name} ${id}`, actions, decide };
  }

  #writes(operation: string, input: object): Prepared[] {
    if (operation === 'TransactWriteItems')
      return (input as TransactInput).TransactItems.map((each) => {
        const [kind, ...more] = Object.keys(each) as Write[];
        if (
          kind === undefined ||
          more.length > 0 ||
          !['Put', 'Update', 'Delete', 'ConditionCheck'].includes(kind)
        )
          invalid('TransactItems can only contain one of ConditionCheck, Put, Update or Delete');
        onlyKnown(kind, each[kind]!);
        return this.#prepare(kind, each[kind]!);
      });
    if (operation === 'BatchWriteItem')
      return Object.entries((input as BatchInput<WriteRequests>).RequestItems).flatMap(([table, requests]) =>
        requests.map(({ PutRequest: put, DeleteRequest: deletion }) =>
          put
            ? this.#prepare('Put', { ...put, TableName: table })
            : this.#prepare('Delete', { ...deletion!, TableName: table }),
        ),
      );
    if (operation !== 'PutItem' && operation !== 'UpdateItem' && operation !== 'DeleteItem') return [];
    return [this.#prepare(operation.slice(0, -4) as Write, input as Input)];
  }

  #write(kind: Write, input: Input): object {
    const { ReturnValues: values = 'NONE' } = input;
    const allowed = kind === 'Update' ? ['ALL_OLD', 'ALL_NEW', 'UPDATED_OLD', 'UPDATED_NEW'] : ['ALL_OLD'];
    if (values !== 'NONE' && !allowed.includes(values)) invalid('Return values set to invalid value');
    const { table, id, actions, decide } = this.#prepare(kind, input);
    const old = table.latest(id);
    const item = decide(old);
    this.#set(table, id, item);
    if (values === 'NONE') return {};
    const all = values.endsWith('OLD') ? old : item;
    // Only what is at the paths, within its attribute. What was removed has no new value.
    const changed = actions.filter(({ kind: action }) => action !== 'REMOVE' || values === 'UPDATED_OLD');
    const paths = changed.map(({ path }) => path);
    const shown = all && values.startsWith('UPDATED') ? project(all, paths) : all;
    return shown === undefined || Object.keys(shown).length === 0 ? {} : { Attributes: shown };
  }

  #transactWrite(input: TransactInput): object {
    const { ClientRequestToken: token, TransactItems: items } = input;
    const text = JSON.stringify(items);
    const writes = this.#writes('TransactWriteItems', input);
    checkBatch(
      writes.map(({ place }) => place),
      100,
    );
    if (token !== undefined) this.footprint.add(`token ${token}`, 'write');
    const done = token === undefined ? undefined : this.#tokens.get(token);
    if (done !== undefined && this.#now() - done.at < tokenLifetime) {
      if (done.input === text) return {};
      throw new Refusal('IdempotentParameterMismatchException', 'The token was used with other parameters');
    }
    const outcomes = writes.map(({ table, id, decide }) => {
      try {
        return { Code: 'None', item: decide(table.latest(id)) };
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        const isCondition = error.type === 'ConditionalCheckFailedException';
        return {
          Code: isCondition ? 'ConditionalCheckFailed' : 'ValidationError',
          Message: error.message,
          ...error.members,
        };
      }
    });
    if (outcomes.some(({ Code: code }) => code !== 'None'))
      throw cancelled(outcomes.map((each) => (each.Code === 'None' ? { Code: 'None' } : each)));
    for (const [index, { table, id }] of writes.entries())
      if (!('ConditionCheck' in items[index]!))
        this.#set(table, id, (outcomes[index] as { item?: Item }).item);
    if (token !== undefined && !this.#tried) this.#tokens.set(token, { input: text, at: this.#now() });
    return {};
  }

  #transactGet({ TransactItems: items }: TransactInput): object {
    const gets = items.map(({ Get: get, ...more }) => {
      if (get === undefined || Object.keys(more).length > 0) invalid('TransactItems can only contain Get');
      onlyKnown('Get', get);
      return get;
    });
    const ids = gets.map(
      ({ TableName: table, Key: key }) => `${table} ${this.#table(table).idOfKey(normalized(key))}`,
    );
    checkBatch(ids, 100);
    const found = gets.map((get) => this.#get({ ...get, ConsistentRead: true }, {}));
    return { Responses: found.map((item) => (item === undefined ? {} : { Item: item })) };
  }

  #batchGet({ RequestItems: requests }: BatchInput<GetRequests>, reading: Reading): object {
    const { done = 0, fit = Infinity, left } = reading;
    const gets = Object.entries(requests).flatMap(([table, { Keys: keys, ...rest }]) => {
      onlyKnown('BatchGetItem of a table', rest);
      return keys.map((key) => {
        const item = this.#get({ ...rest, TableName: table, Key: key }, reading);
        // DynamoDB takes 1 and 1.0 for two keys here, although they are one item.
        return { table, key, rest, item, place: `${table} ${this.#table(table).idOfKey(key)}` };
      });
    });
    checkBatch(
      gets.map(({ place }) => place),
      100,
    );
    const responses = Object.fromEntries(Object.keys(requests).map((table) => [table, [] as Item[]]));
    const unprocessed: Record<string, { Keys: Item[] }> = {};
    for (const { table, item } of gets.slice(done, done + fit))
      if (item !== undefined) responses[table]!.push(item);
    for (const [index, { table, key, rest }] of gets.entries())
      if (index >= done + fit || left?.has(index) === true)
        (unprocessed[table] ??= { ...rest, Keys: [] }).Keys.push(key);
    return { Responses: responses, UnprocessedKeys: unprocessed };
  }

  #batchWrite(input: BatchInput<WriteRequests>, { done = 0, fit = Infinity, left }: Reading): object {
    for (const request of Object.values(input.RequestItems).flat())
      for (const [kind, each] of Object.entries(request)) onlyKnown(kind as 'PutRequest', each);
    const writes = this.#writes('BatchWriteItem', input);
    checkBatch(
      writes.map(({ place }) => place),
      25,
    );
    const unprocessed: Record<string, object[]> = {};
    for (const [index, { table, id, decide }] of writes.entries()) {
      if (index < done && left?.has(index) !== true) continue;
      if (index < done || index >= done + fit)
        (unprocessed[table.name] ??= []).push(Object.values(input.RequestItems).flat()[index]!);
      else this.#set(table, id, decide(table.latest(id)));
    }
    return { UnprocessedItems: unprocessed };
  }

  #search(operation: 'Query' | 'Scan', input: Input, reading: Reading): object {
    const { fit = Infinity } = reading;
    const table = this.#table(input.TableName);
    const index = input.IndexName === undefined ? undefined : table.index(input.IndexName);
    const { keys } = index ?? table;
    const { Limit: limit = Infinity, Select: select, ExclusiveStartKey: start } = input;
    if (limit < 1) invalid('Limit must be greater than or equal to 1');
    if (index?.isLocal === false && input.ConsistentRead === true)
      invalid('Consistent reads are not supported on global secondary indexes');
    const expressions = new Expressions(input);
    const keyCondition = operation === 'Query' ? keyConditionOf(input, expressions, keys) : undefined;
    const filter =
      input.FilterExpression === undefined ? undefined : expressions.condition(input.FilterExpression);
    if (filter) table.checkPaths(pathsOf(filter));
    if (operation === 'Query' && filter)
      for (const path of pathsOf(filter))
        if (keys.some(({ name }) => name === path[0]))
          invalid('Filter Expression can only contain non-primary key attributes');
    const paths = projectionOf(input, expressions, table);
    expressions.end();
    checkSelect(select, index, paths !== undefined);
    const keyNames = [...new Set([...table.keys, ...keys].map(({ name }) => name))];
    const names =
      index === undefined || index.projected === 'ALL' ? undefined : [...keyNames, ...index.projected];
    const needed = [...(filter ? pathsOf(filter) : []), ...(index?.isLocal === false ? (paths ?? []) : [])];
    if (names && needed.some(([name]) => !names.includes(String(name))))
      invalid(
        `Secondary index ${input.IndexName} does not project one or more attributes of the expressions`,
      );
    const compare = (a: Item, b: Item): number => {
      const sortKey = operation === 'Query' ? keys[1]?.name : undefined;
      const sorted = sortKey === undefined ? 0 : order(a[sortKey]!, b[sortKey]!)!;
      const byId = table.idOf(a) < table.idOf(b) ? -1 : Number(table.idOf(a) !== table.idOf(b));
      return (sorted === 0 ? byId : sorted) * (input.ScanIndexForward === false ? -1 : 1);
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
    this.footprint.add(key?.kind === 'value' ? table.partition(key.value) : table.name, 'read');
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

/** The item as a read sees it that is not consistent. */
function itemAt(
  versions: readonly Version[],
  key: Item,
  { asOf = Infinity, misses }: Reading,
): Item | undefined {
  const time = typeof asOf === 'number' ? asOf : asOf(key);
  return versions.findLast(({ since, number }) => since <= time && misses?.has(number) !== true)?.item;
}

function projectionOf(
  { ProjectionExpression: text, AttributesToGet: names, ...input }: Input,
  expressions: Expressions,
  table: Table,
): readonly Path[] | undefined {
  if (names && (text !== undefined || Object.keys(input).some((each) => each.includes('Expression'))))
    invalid('Can not use both expression and non-expression parameters in the same request');
  const paths =
    text === undefined
      ? names?.map((name) => [name])
      : expressions.parse(text, (parser) => parser.projection());
  if (paths) table.checkPaths(paths);
  return paths;
}

function onlyKnown(what: keyof typeof members, input: object): void {
  const known = members[what].split(' ');
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined || known.includes(name)) continue;
    if (value !== 'NONE' || !/^Return(ConsumedCapacity|ItemCollectionMetrics)$/.test(name))
      throw new Unsupported(`${name} of ${what}`);
  }
}

function checkBatch(ids: readonly string[], most: number): void {
  if (ids.length === 0 || ids.length > most) invalid(`The number of requests must be from 1 to ${most}`);
  if (new Set(ids).size < ids.length) invalid('The request cannot include multiple operations on one item');
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
  return isKnown || invalid('Query key condition not supported');
}

function pathsOf(each: Condition): Path[] {
  if (each.kind !== 'test') return each.parts.flatMap(pathsOf);
  return each.operands.flatMap((operand) => {
    const inner = operand.kind === 'size' ? operand.of : operand;
    return inner.kind === 'path' ? [inner.path] : [];
  });
}
