import {
  type AttributeValue,
  ConditionalCheckFailedException,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb';
import {
  GetCommand,
  type GetCommandInput,
  PutCommand,
  type PutCommandInput,
  TransactWriteCommand,
  type TransactWriteCommandInput,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';

type Item = Record<string, AttributeValue>;

type Condition = Pick<
  PutCommandInput,
  'ConditionExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues'
>;

type Put = Condition & Pick<PutCommandInput, 'TableName' | 'Item'>;

/**
 * Tables in memory that apply the expressions of real writes one after the other. They know as much of DynamoDB's
 * expressions as the service uses, and throw on anything else. Keys: the first of `keyHash`, `key` and `id` that an item has.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
 */
export class MemoryTables {
  readonly #items = new Map<string, Item>();
  /** https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html: ClientRequestToken */
  readonly #tokens = new Set<string>();

  /** Equal for tables with equal items. */
  get contents(): string {
    return JSON.stringify([...this.#items].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  items(tableName: string): Record<string, unknown>[] {
    return [...this.#items]
      .filter(([key]) => key.startsWith(`${tableName}/`))
      .map(([, item]) => unmarshall(item, { wrapNumbers: false }));
  }

  /** Applies a command of the document client, in a number of attempts. */
  send(command: unknown, attempts = 1): object {
    if (command instanceof UpdateCommand) return this.#update(command.input, attempts);
    if (command instanceof PutCommand) return this.#put(command.input, attempts);
    if (command instanceof GetCommand) return this.#get(command.input);
    if (command instanceof TransactWriteCommand) return this.#transact(command.input);
    throw new Error('The tables in memory do not know this command.');
  }

  #get({ TableName: table, Key: key }: GetCommandInput): object {
    const item = this.#items.get(keyOf(table, marshall(key)));
    return item === undefined ? {} : { Item: unmarshall(item, { wrapNumbers: true }) };
  }

  #put({ TableName: table, Item: item, ...condition }: Put, attempts: number): object {
    const stored = marshall(item);
    const key = keyOf(table, stored);
    const old = this.#items.get(key);
    if (!holds(condition, old)) throw conditionFailed(old, attempts);
    this.#items.set(key, stored);
    return {};
  }

  #update(input: UpdateCommandInput, attempts: number): object {
    const { TableName: table, Key: keyValues, UpdateExpression: expression = '' } = input;
    const keyAttributes = marshall(keyValues);
    const key = keyOf(table, keyAttributes);
    const old = this.#items.get(key);
    if (!holds(input, old)) throw conditionFailed(old, attempts);
    const item: Item = { ...keyAttributes, ...old };
    const { name, value } = operands(input, old);
    for (const [, action, assignments = ''] of expression.matchAll(/(SET|ADD) (.*?)(?= SET | ADD |$)/g)) {
      for (const assignment of assignments.split(',')) {
        const match = /^([#\w]+) (?:= )?(?:([#\w]+) \+ )?(:\w+)$/.exec(assignment.trim());
        if (match === null) throw new Error(`Not an assignment: "${assignment}" of "${expression}".`);
        const [attribute, operand] = [name(match[1]!), value(match[3]!)];
        const augend = action === 'SET' ? match[2] : match[1];
        item[attribute] = augend === undefined ? operand : sum(old?.[name(augend)], operand);
      }
    }
    this.#items.set(key, item);
    return { Attributes: unmarshall(item, { wrapNumbers: true }) };
  }

  #transact({
    TransactItems: items = [],
    ClientRequestToken: token = '',
  }: TransactWriteCommandInput): object {
    if (this.#tokens.has(token)) return {};
    const puts = items.map(({ Put: put }) => put!);
    const reasons = puts.map((put) => {
      const old = this.#items.get(keyOf(put.TableName, marshall(put.Item)));
      if (holds(put, old)) return { Code: 'None' };
      return { Code: 'ConditionalCheckFailed', ...(old !== undefined && { Item: old }) };
    });
    if (reasons.some(({ Code: code }) => code !== 'None')) throw transactionCanceled(reasons);
    for (const put of puts) this.#items.set(keyOf(put.TableName, marshall(put.Item)), marshall(put.Item));
    this.#tokens.add(token);
    return {};
  }
}

export function transactionCanceled(
  reasons: TransactionCanceledException['CancellationReasons'],
): TransactionCanceledException {
  return new TransactionCanceledException({
    message: 'Transaction cancelled',
    $metadata: { attempts: 1 },
    CancellationReasons: reasons,
  });
}

function conditionFailed(old: Item | undefined, attempts: number): ConditionalCheckFailedException {
  return new ConditionalCheckFailedException({
    message: 'The conditional request failed',
    $metadata: { attempts },
    ...(old !== undefined && { Item: old }),
  });
}

function keyOf(table: string | undefined, item: Item): string {
  return `${table}/${JSON.stringify(item['keyHash'] ?? item['key'] ?? item['id'])}`;
}

function operands({ ExpressionAttributeNames: names = {}, ...input }: Condition, item: Item | undefined) {
  const values = marshall(input.ExpressionAttributeValues ?? {});
  const name = (token: string) => (token.startsWith('#') ? names[token]! : token);
  const value = (token: string): AttributeValue => values[token] ?? missing(token);
  return {
    name,
    value,
    operand: (token: string) => (token.startsWith(':') ? value(token) : item?.[name(token)]),
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

/** Whether a condition holds: comparisons and attribute_not_exists, joined by AND, OR and parentheses. */
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
    if (token === 'attribute_not_exists') {
      expectToken('(');
      const attribute = name(next());
      expectToken(')');
      return item?.[attribute] === undefined;
    }
    const left = operand(token);
    return compare(left, next(), operand(next()));
  }
  const result = disjunction();
  if (tokens.length > 0) throw new Error(`"${expression}" ends before "${tokens.join(' ')}".`);
  return result;
}

/** False if an operand does not exist, as in DynamoDB. Only numbers. */
function compare(
  left: AttributeValue | undefined,
  operator: string,
  right: AttributeValue | undefined,
): boolean {
  if (left?.N === undefined || right?.N === undefined) return false;
  const [a, b] = [numberOf(left.N), numberOf(right.N)];
  switch (operator) {
    case '=':
      return a === b;
    case '<>':
      return a !== b;
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
