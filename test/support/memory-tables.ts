import { type AttributeValue, ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';

export type Item = Readonly<Record<string, AttributeValue>>;

/** An error that DynamoDB names. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly type: string;
  readonly members: object;

  constructor(type: string, members: object = {}) {
    super(type);
    this.type = type;
    this.members = members;
  }
}

interface Condition {
  readonly ConditionExpression?: string;
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues?: Item;
  readonly ReturnValuesOnConditionCheckFailure?: 'ALL_OLD';
}

interface Put extends Condition {
  readonly TableName: string;
  readonly Item: Item;
}

/** What the service sends, as in the JSON of DynamoDB's protocol. */
interface Inputs {
  readonly GetItem: { readonly TableName: string; readonly Key: Item; readonly ConsistentRead?: boolean };
  readonly PutItem: Put;
  readonly UpdateItem: Condition & {
    readonly TableName: string;
    readonly Key: Item;
    readonly UpdateExpression: string;
  };
  readonly Query: Condition & {
    readonly TableName: string;
    readonly KeyConditionExpression: string;
    readonly Limit: number;
    readonly ExclusiveStartKey?: Item;
  };
  readonly TransactWriteItems: {
    readonly TransactItems: readonly { readonly Put: Put }[];
    readonly ClientRequestToken: string;
  };
}
export type Operation = keyof Inputs;

interface Outputs {
  readonly GetItem: { readonly Item?: Item };
  readonly PutItem: object;
  readonly UpdateItem: { readonly Attributes: Record<string, AttributeValue> };
  readonly Query: object;
  readonly TransactWriteItems: object;
}

/** What an item was from a time on. Undefined: it did not exist. */
export interface Version {
  readonly since: number;
  readonly item: Item | undefined;
}

export interface Reading {
  /** A read that is not consistent sees the items of this time. Default: the latest. */
  readonly asOf?: number;
  /** Items that fit in the answer of a query. */
  readonly fit?: number;
}

/**
 * Tables in memory that apply the expressions of real calls one after the other. They know as much of DynamoDB's expressions as
 * the service uses, and throw on anything else. Keys: the first of `keyHash`, `key` and `id` that an
 * item has.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
 */
export class MemoryTables {
  readonly #histories = new Map<string, Version[]>();
  /** https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html: ClientRequestToken */
  readonly #tokens = new Set<string>();
  readonly #now: () => number;

  constructor(now: () => number = () => 0) {
    this.#now = now;
  }

  /** Equal for tables with equal items. */
  get contents(): string {
    const items = [...this.#histories].map(([key, versions]) => [key, versions.at(-1)?.item] as const);
    return JSON.stringify(items.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** The items of a table, as the document client returns them. */
  items(table: string): Record<string, unknown>[] {
    return [...this.#ofTable(table)].flatMap((versions) => {
      const item = versions.at(-1)?.item;
      return item === undefined ? [] : [unmarshall(item, { wrapNumbers: false })];
    });
  }

  /** Every version of every item of a table. */
  versions(table: string): readonly (readonly Version[])[] {
    return [...this.#ofTable(table)];
  }

  put(table: string, item: Item): void {
    this.#set(keyOf(table, item), item);
  }

  delete(table: string, key: Item): void {
    this.#set(keyOf(table, key), undefined);
  }

  /** The keys that a call writes. */
  static written(operation: Operation, input: Inputs[Operation]): string[] {
    if ('TransactItems' in input)
      return input.TransactItems.map(({ Put: put }) => keyOf(put.TableName, put.Item));
    if ('Item' in input) return [keyOf(input.TableName, input.Item)];
    if (operation === 'UpdateItem' && 'Key' in input) return [keyOf(input.TableName, input.Key)];
    return [];
  }

  /** Applies a write of the document client, without the client. @throws as the client does */
  send(command: unknown): object {
    if (command instanceof PutCommand) {
      this.put(command.input.TableName!, marshall(command.input.Item));
      return {};
    }
    if (!(command instanceof UpdateCommand))
      throw new Error('The tables in memory do not know this command.');
    const { Key: key, ExpressionAttributeValues: values, ...input } = command.input;
    try {
      const update = { ...input, Key: marshall(key), ExpressionAttributeValues: marshall(values) };
      const { Attributes: item } = this.call('UpdateItem', update as Inputs['UpdateItem']);
      return { Attributes: unmarshall(item, { wrapNumbers: true }) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw new ConditionalCheckFailedException({ message: error.type, $metadata: {}, ...error.members });
    }
  }

  /** @throws Refusal as DynamoDB does */
  call<Name extends Operation>(operation: Name, input: Inputs[Name], reading?: Reading): Outputs[Name];
  call(operation: Operation, input: never, reading: Reading = {}): object {
    switch (operation) {
      case 'GetItem':
        return this.#get(input, reading);
      case 'PutItem':
        return this.#put(input);
      case 'UpdateItem':
        return this.#update(input);
      case 'Query':
        return this.#query(input, reading);
      case 'TransactWriteItems':
        return this.#transact(input);
      default:
        throw new Error(`The tables in memory do not know ${String(operation)}.`);
    }
  }

  #ofTable(table: string): Version[][] {
    return [...this.#histories].flatMap(([key, versions]) => (key.startsWith(`${table}/`) ? [versions] : []));
  }

  #item(key: string): Item | undefined {
    return this.#histories.get(key)?.at(-1)?.item;
  }

  #set(key: string, item: Item | undefined): void {
    const versions = this.#histories.get(key) ?? [];
    versions.push({ since: this.#now(), item });
    this.#histories.set(key, versions);
  }

  #get({ TableName: table, Key: key, ConsistentRead }: Inputs['GetItem'], { asOf }: Reading): object {
    const versions = this.#histories.get(keyOf(table, key)) ?? [];
    const item = ConsistentRead === true ? versions.at(-1)?.item : itemAt(versions, asOf);
    return { ...(item !== undefined && { Item: item }) };
  }

  #put(input: Put): object {
    const key = keyOf(input.TableName, input.Item);
    const old = this.#item(key);
    if (!holds(input, old)) throw conditionFailed(input, old);
    this.#set(key, input.Item);
    return {};
  }

  #update(input: Inputs['UpdateItem']): object {
    const { UpdateExpression: expression } = input;
    const key = keyOf(input.TableName, input.Key);
    const old = this.#item(key);
    if (!holds(input, old)) throw conditionFailed(input, old);
    const item: Record<string, AttributeValue> = { ...input.Key, ...old };
    const { name, operand } = operands(input, old);
    for (const [, action, assignments = ''] of expression.matchAll(/(SET|ADD) (.*?)(?= SET | ADD |$)/g)) {
      for (const assignment of assignments.split(',')) {
        const match =
          /^([#\w]+) (?:= )?(?:([#\w]+) \+ )?(:\w+)$/.exec(assignment.trim()) ?? missing(assignment);
        const [, target = '', augend = action === 'ADD' ? target : undefined, addend = ''] = match;
        const value = operand(addend) ?? missing(addend);
        item[name(target)] = augend === undefined ? value : sum(old?.[name(augend)], value);
      }
    }
    this.#set(key, item);
    return { Attributes: item };
  }

  /** Of the index `byStatus`: partition key `status`, sort key `id`, in descending order. */
  #query(input: Inputs['Query'], { asOf, fit = Infinity }: Reading): object {
    const { KeyConditionExpression: ConditionExpression, Limit: limit, ExclusiveStartKey: start } = input;
    const found = this.#ofTable(input.TableName)
      .flatMap((versions) => {
        const item = itemAt(versions, asOf);
        return item === undefined ? [] : [item];
      })
      .filter((item) => holds({ ...input, ConditionExpression }, item))
      .filter((item) => start === undefined || BigInt(item['id']!.N!) < BigInt(start['id']!.N!))
      .toSorted((a, b) => (BigInt(a['id']!.N!) < BigInt(b['id']!.N!) ? 1 : -1));
    const items = found.slice(0, Math.min(limit, fit));
    const last = items.at(-1);
    // DynamoDB does not look further than the limit.
    const more = last !== undefined && (items.length === limit || items.length < found.length);
    return {
      Items: items,
      Count: items.length,
      ...(more && { LastEvaluatedKey: { id: last['id'], status: last['status'] } }),
    };
  }

  #transact({ TransactItems: items, ClientRequestToken: token }: Inputs['TransactWriteItems']): object {
    if (this.#tokens.has(token)) return {};
    const puts = items.map(({ Put: put }) => put);
    const reasons = puts.map((put) => {
      const old = this.#item(keyOf(put.TableName, put.Item));
      return holds(put, old) ? { Code: 'None' } : { Code: 'ConditionalCheckFailed', ...oldItem(put, old) };
    });
    if (reasons.some(({ Code: code }) => code !== 'None')) throw cancelled(reasons);
    for (const put of puts) this.#set(keyOf(put.TableName, put.Item), put.Item);
    this.#tokens.add(token);
    return {};
  }
}

/** The item as it was at a time, or is now. */
function itemAt(versions: readonly Version[], time = Infinity): Item | undefined {
  return versions.findLast(({ since }) => since <= time)?.item;
}

export function cancelled(reasons: readonly object[]): Refusal {
  return new Refusal('TransactionCanceledException', { CancellationReasons: reasons });
}

function conditionFailed(condition: Condition, old: Item | undefined): Refusal {
  return new Refusal('ConditionalCheckFailedException', oldItem(condition, old));
}

function oldItem({ ReturnValuesOnConditionCheckFailure: values }: Condition, old: Item | undefined): object {
  return values === 'ALL_OLD' && old !== undefined ? { Item: old } : {};
}

function keyOf(table: string, item: Item): string {
  return `${table}/${JSON.stringify(item['keyHash'] ?? item['key'] ?? item['id'])}`;
}

function operands(
  { ExpressionAttributeNames: names = {}, ExpressionAttributeValues: values = {} }: Condition,
  item: Item | undefined,
) {
  const name = (token: string) => (token.startsWith('#') ? (names[token] ?? missing(token)) : token);
  return {
    name,
    operand: (token: string) =>
      token.startsWith(':') ? (values[token] ?? missing(token)) : item?.[name(token)],
  };
}

function missing(token: string): never {
  throw new Error(`The expression uses ${token}, which has no value.`);
}

function sum(augend: AttributeValue | undefined, addend: AttributeValue): AttributeValue {
  const [a, b] = [numberOf(augend?.N ?? '0'), numberOf(addend.N!)];
  return { N: String(typeof a === 'bigint' && typeof b === 'bigint' ? a + b : Number(a) + Number(b)) };
}

/** Exact, unless it has a fraction. */
function numberOf(text: string): bigint | number {
  return text.includes('.') ? Number(text) : BigInt(text);
}

/** Whether a condition holds: comparisons and attribute_(not_)exists, joined by AND, OR and parentheses. */
function holds(input: Condition, item: Item | undefined): boolean {
  const { ConditionExpression: expression } = input;
  if (expression === undefined) return true;
  const { name, operand } = operands(input, item);
  const tokens = expression.match(/[()]|<>|[<>]=?|=|[#:]?\w+/g) ?? [];
  const next = () => tokens.shift() ?? missing('more tokens');
  const expectToken = (token: string) => {
    if (next() !== token) throw new Error(`"${token}" is expected in "${expression}".`);
  };

  function disjunction(): boolean {
    let result = conjunction();
    while (tokens[0] === 'OR') {
      next();
      // Not short-circuited, so that all tokens are read.
      const right = conjunction();
      result ||= right;
    }
    return result;
  }
  function conjunction(): boolean {
    let result = term();
    while (tokens[0] === 'AND') {
      next();
      const right = term();
      result &&= right;
    }
    return result;
  }
  function term(): boolean {
    const token = next();
    if (token === '(') {
      const result = disjunction();
      expectToken(')');
      return result;
    }
    if (token === 'attribute_not_exists' || token === 'attribute_exists') {
      expectToken('(');
      const attribute = name(next());
      expectToken(')');
      return (item?.[attribute] === undefined) === (token === 'attribute_not_exists');
    }
    const left = operand(token);
    return compare(left, next(), operand(next()));
  }
  const result = disjunction();
  if (tokens.length > 0) throw new Error(`"${expression}" ends before "${tokens.join(' ')}".`);
  return result;
}

/** As in DynamoDB, an attribute that does not exist is unequal to everything, and no other comparison with it holds. */
function compare(
  left: AttributeValue | undefined,
  operator: string,
  right: AttributeValue | undefined,
): boolean {
  if (operator === '=' && left?.S !== undefined) return left.S === right?.S;
  if (operator === '<>' && right?.N !== undefined)
    return left?.N === undefined || numberOf(left.N) !== numberOf(right.N);
  if (left?.N === undefined || right?.N === undefined) return false;
  const [a, b] = [numberOf(left.N), numberOf(right.N)];
  switch (operator) {
    case '=':
      return a === b;
    case '<':
      return a < b;
    case '<=':
      return a <= b;
    case '>':
      return a > b;
    case '>=':
      return a >= b;
    default:
      throw new Error(`Not a comparison: ${operator}`);
  }
}
