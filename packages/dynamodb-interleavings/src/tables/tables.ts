import { Footprint } from '../footprint.ts';
import { cancelled, EmptyKey, invalid, Refusal, WrongKey } from './errors.ts';
import { project } from './evaluation.ts';
import {
  type BatchInput,
  checkMembers,
  type GetRequests,
  type Input,
  nameOf,
  operationOf,
  type TransactInput,
  type Write,
  type WriteRequests,
} from './input.ts';
import type { Path } from './operands.ts';
import { Expressions } from './parser.ts';
import { projectionOf, refuseMixed } from './paths.ts';
import type { TableDefinition } from './schema.ts';
import { search } from './search.ts';
import { itemAt, type Reading, Table, type Version } from './table.ts';
import { fromWire, type Item, normalized, type Value } from './values.ts';
import { parse, type Parsed, type Prepared } from './write.ts';

/** https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html: ClientRequestToken */
const tokenLifetime = 600_000;

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
  #deletions = 0;

  /** @param now milliseconds since the Unix epoch, for versions, tokens and the time to live */
  constructor(definitions: readonly TableDefinition[], now: () => number = Date.now) {
    this.#tables = new Map(definitions.map((each) => [each.TableName!, new Table(each)]));
    this.#now = now;
  }

  /** The number of the latest write. */
  get writeCount(): number {
    return this.#writeCount;
  }

  /** How many items have been deleted. */
  get deletions(): number {
    return this.#deletions;
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
      return item === undefined ? [] : [fromWire(item)];
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
    const known = operationOf(operation, input);
    switch (known) {
      case 'GetItem': {
        const item = this.#read(this.#gets([input as Input])[0]!, reading);
        return item === undefined ? {} : { Item: item };
      }
      case 'PutItem':
      case 'UpdateItem':
      case 'DeleteItem':
        return this.#write(known.slice(0, -4) as Write, input as Input);
      case 'Query':
      case 'Scan':
        return search(known, input as Input, reading, (name) => this.#table(name), this.footprint);
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
    return this.#tables.get(nameOf(table))?.billing;
  }

  /** The table of each item of a transaction. */
  placesIn(input: object): string[] {
    const { TransactItems: items = [] } = input as Partial<TransactInput>;
    return items.map((each) => Object.values(each)[0]?.TableName ?? '');
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
    const table = this.#tables.get(nameOf(name));
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
    if (item === undefined) this.#deletions += 1;
    versions.push({ since: this.#now(), number: this.#writeCount, item });
    table.histories.set(id, versions);
    this.footprint.add(`${table.name} ${id}`, 'write');
    this.footprint.add(table.partition((JSON.parse(id) as Value[])[0]), 'mark');
    this.footprint.add(table.name, 'mark');
  }

  /** What is read by keys. As for writes, expressions are parsed before DynamoDB looks for the tables. */
  #gets(inputs: readonly Input[], isTransaction = false): Get[] {
    refuseMixed(inputs);
    const parsed = inputs.map((input) => {
      const expressions = new Expressions(input);
      const paths = projectionOf(input, expressions);
      expressions.end();
      return { input, paths, key: normalized(input.Key) };
    });
    const found = parsed.map((each) => ({ ...each, table: this.#table(each.input.TableName) }));
    const gets = found.map((each) => () => {
      if (each.paths) each.table.checkPaths(each.paths);
      return { ...each, id: each.table.idOfKey(each.key) };
    });
    return isTransaction ? together(gets, (error) => error instanceof WrongKey) : gets.map((each) => each());
  }

  #read({ input, table, key, id, paths }: Get, reading: Reading): Item | undefined {
    this.footprint.add(`${table.name} ${id}`, 'read');
    const versions = table.histories.get(id) ?? [];
    const item = input.ConsistentRead === true ? versions.at(-1)?.item : itemAt(versions, key, reading);
    return item && paths ? project(item, paths) : item;
  }

  #writes(operation: string, input: object): Prepared[] {
    const parsed = this.#parsed(operation, input);
    const tables = parsed.map(({ tableName }) => this.#table(tableName));
    const writes = parsed.map(
      ({ on }, index) =>
        () =>
          on(tables[index]!),
    );
    if (operation !== 'TransactWriteItems') return writes.map((each) => each());
    return together(writes, (error) => error instanceof WrongKey);
  }

  #parsed(operation: string, input: object): Parsed[] {
    const parsed = (kind: Write, each: Input) => parse(kind, each, () => this.footprint);
    if (operation === 'TransactWriteItems')
      return (input as TransactInput).TransactItems.map((each) => {
        const [kind, ...more] = Object.keys(each) as Write[];
        if (
          kind === undefined ||
          more.length > 0 ||
          !['Put', 'Update', 'Delete', 'ConditionCheck'].includes(kind)
        )
          invalid('TransactItems can only contain one of ConditionCheck, Put, Update or Delete');
        checkMembers(kind, each[kind]!);
        return parsed(kind, each[kind]!);
      });
    if (operation === 'BatchWriteItem')
      return Object.entries((input as BatchInput<WriteRequests>).RequestItems).flatMap(([table, requests]) =>
        requests.map(({ PutRequest: put, DeleteRequest: deletion }) =>
          put
            ? parsed('Put', { ...put, TableName: table })
            : parsed('Delete', { ...deletion!, TableName: table }),
        ),
      );
    if (operation !== 'PutItem' && operation !== 'UpdateItem' && operation !== 'DeleteItem') return [];
    return [parsed(operation.slice(0, -4) as Write, input as Input)];
  }

  #write(kind: Write, input: Input): object {
    const { ReturnValues: values = 'NONE' } = input;
    const allowed = kind === 'Update' ? ['ALL_OLD', 'ALL_NEW', 'UPDATED_OLD', 'UPDATED_NEW'] : ['ALL_OLD'];
    if (values !== 'NONE' && !allowed.includes(values)) invalid('Return values set to invalid value');
    const { table, id, actions, decide } = this.#writes(`${kind}Item`, input)[0]!;
    const old = table.latest(id);
    const item = decide(old);
    this.#set(table, id, item);
    if (values === 'NONE') return {};
    const all = values.endsWith('OLD') ? old : item;
    // Only what is at the paths, within its attribute: of an element that was removed, the one that has its index now.
    const paths = actions.map(({ path }) => path);
    const shown = all && values.startsWith('UPDATED') ? project(all, paths) : all;
    return shown === undefined || Object.keys(shown).length === 0 ? {} : { Attributes: shown };
  }

  #transactWrite(input: TransactInput): object {
    const { ClientRequestToken: token, TransactItems: items } = input;
    const text = sorted(items);
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
    const results = together(
      writes.map(
        ({ table, id, decide }) =>
          () =>
            decide(table.latest(id)),
      ),
      (error) => !(error instanceof EmptyKey),
    );
    for (const [index, { table, id }] of writes.entries())
      if (!('ConditionCheck' in items[index]!)) this.#set(table, id, results[index]);
    if (token !== undefined && !this.#tried) this.#tokens.set(token, { input: text, at: this.#now() });
    return {};
  }

  #transactGet({ TransactItems: items }: TransactInput): object {
    const inputs = items.map(({ Get: get, ...more }) => {
      if (get === undefined || Object.keys(more).length > 0) invalid('TransactItems can only contain Get');
      checkMembers('Get', get);
      return { ...get, ConsistentRead: true };
    });
    const gets = this.#gets(inputs, true);
    checkBatch(
      gets.map(({ table, id }) => `${table.name} ${id}`),
      100,
    );
    const found = gets.map((get) => this.#read(get, {}));
    return { Responses: found.map((item) => (item === undefined ? {} : { Item: item })) };
  }

  #batchGet({ RequestItems: requests }: BatchInput<GetRequests>, reading: Reading): object {
    const { done = 0, fit = Infinity, left } = reading;
    const inputs = Object.entries(requests).flatMap(([table, { Keys: keys, ...rest }]) => {
      checkMembers('BatchGetItem of a table', rest);
      checkMembers('table of a batch', { TableName: table });
      return keys.map((key) => ({ ...rest, TableName: table, Key: key }));
    });
    const gets = this.#gets(inputs).map((get) => {
      const { TableName: table, Key: key, ...rest } = get.input;
      // DynamoDB takes 1 and 1.0 for two keys here, although they are one item.
      const place = `${get.table.name} ${get.table.idOfKey(key)}`;
      return { table, key, rest, place, item: this.#read(get, reading) };
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
      for (const [kind, each] of Object.entries(request)) checkMembers(kind as 'PutRequest', each);
    for (const table of Object.keys(input.RequestItems))
      checkMembers('table of a batch', { TableName: table });
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
}

/** A read by a key that is checked but for what depends on the stored item. */
interface Get {
  readonly input: Input;
  readonly table: Table;
  readonly key: Item;
  readonly id: string;
  readonly paths: readonly Path[] | undefined;
}

/** The results of all parts of a transaction. @throws Refusal of the whole, if parts are refused by one that cancels it */
function together<Result>(parts: readonly (() => Result)[], cancels: (error: Refusal) => boolean): Result[] {
  const results: Result[] = [];
  const reasons = parts.map((part) => {
    try {
      results.push(part());
      return { Code: 'None' };
    } catch (error) {
      if (!(error instanceof Refusal) || !cancels(error)) throw error;
      const isCondition = error.type === 'ConditionalCheckFailedException';
      const code = isCondition ? 'ConditionalCheckFailed' : 'ValidationError';
      return { Code: code, Message: error.message, ...error.members };
    }
  });
  if (results.length < parts.length) throw cancelled(reasons);
  return results;
}

/** The JSON of something, whatever the order of its members is. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    each === null || typeof each !== 'object' || Array.isArray(each)
      ? each
      : Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1))),
  );
}

function checkBatch(ids: readonly string[], most: number): void {
  if (ids.length === 0 || ids.length > most) invalid(`The number of requests must be from 1 to ${most}`);
  if (new Set(ids).size < ids.length) invalid('The request cannot include multiple operations on one item');
}
