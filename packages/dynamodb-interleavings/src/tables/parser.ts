import { invalid, Unsupported } from './errors.ts';
import { reservedWords } from './reserved-words.ts';
import { normalize, order, type Type, typeOf, types, type Value } from './values.ts';

/*
 * The grammar of expressions.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
 */

/** Names of attributes and members, and indexes of lists. */
export type Path = readonly (string | number)[];

export type Operand =
  | { readonly kind: 'path'; readonly path: Path }
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'size'; readonly of: Operand };

const comparators = ['=', '<>', '<', '<=', '>', '>='] as const;
export type Comparator = (typeof comparators)[number];

const functions = [
  'attribute_exists',
  'attribute_not_exists',
  'attribute_type',
  'begins_with',
  'contains',
] as const;
type FunctionName = (typeof functions)[number];

export type Condition =
  | { readonly kind: 'and' | 'or'; readonly left: Condition; readonly right: Condition }
  | { readonly kind: 'not'; readonly condition: Condition }
  | {
      readonly kind: 'compare';
      readonly comparator: Comparator;
      readonly left: Operand;
      readonly right: Operand;
    }
  | { readonly kind: 'between'; readonly operand: Operand; readonly low: Operand; readonly high: Operand }
  | { readonly kind: 'in'; readonly operand: Operand; readonly among: readonly Operand[] }
  | {
      readonly kind: 'call';
      readonly name: FunctionName;
      readonly first: Operand;
      readonly second?: Operand;
    };

/** What `SET` assigns. */
export type Assigned =
  | Operand
  | { readonly kind: 'sum'; readonly sign: '+' | '-'; readonly left: Assigned; readonly right: Assigned }
  | { readonly kind: 'if_not_exists'; readonly path: Path; readonly otherwise: Assigned }
  | { readonly kind: 'list_append'; readonly left: Assigned; readonly right: Assigned };

export type Action =
  | { readonly kind: 'SET'; readonly path: Path; readonly value: Assigned }
  | { readonly kind: 'REMOVE'; readonly path: Path }
  | { readonly kind: 'ADD' | 'DELETE'; readonly path: Path; readonly value: Value };

export interface Substitutes {
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues?: Readonly<Record<string, Value>>;
}

/** The expressions of one call, which share its names and values. */
export class Expressions {
  readonly #names: Readonly<Record<string, string>>;
  readonly #values: Readonly<Record<string, Value>>;
  readonly #unused: Set<string>;

  constructor({ ExpressionAttributeNames: names, ExpressionAttributeValues: values }: Substitutes) {
    this.#names = names ?? {};
    this.#values = Object.fromEntries(
      Object.entries(values ?? {}).map(([name, value]) => [name, normalize(value)]),
    );
    this.#unused = new Set([...Object.keys(this.#names), ...Object.keys(this.#values)]);
    for (const [key, all] of [
      ['ExpressionAttributeNames', names],
      ['ExpressionAttributeValues', values],
    ] as const)
      if (all !== undefined && Object.keys(all).length === 0) invalid(`${key} must not be empty`);
    for (const key of this.#unused)
      if (!/^[#:]\w+$/.test(key)) invalid(`${key} is not a valid name of a substitute`);
  }

  parse<Result>(text: string, rule: (parser: Parser) => Result): Result {
    const parser = new Parser(text, {
      name: (token) => this.#names[this.#use(token)] ?? invalid(`An attribute name is not defined: ${token}`),
      value: (token) =>
        this.#values[this.#use(token)] ?? invalid(`An attribute value is not defined: ${token}`),
    });
    const result = rule(parser);
    parser.end();
    return result;
  }

  condition(text: string): Condition {
    return this.parse(text, (parser) => parser.condition());
  }

  /** @throws Refusal of names and values that no expression uses */
  end(): void {
    if (this.#unused.size > 0)
      invalid(`Value unused in expressions: keys: {${[...this.#unused].join(', ')}}`);
  }

  #use(token: string): string {
    this.#unused.delete(token);
    return token;
  }
}

/** What `#name` and `:value` stand for. */
interface Substitute {
  readonly name: (token: string) => string;
  readonly value: (token: string) => Value;
}

const tokenPattern = /\s*(?:([#:]?[A-Za-z_]\w*|[#:]\w+|\d+|<>|[<>]=?|[=+\-(),.[\]])|(\S))/y;
const mostOperators = 300;

/** Parses an expression, and refuses what is wrong whatever the item is. */
export class Parser {
  readonly #tokens: string[] = [];
  readonly #substitute: Substitute;
  readonly #text: string;
  /** Conditions that parentheses enclose. */
  readonly #enclosed = new WeakSet<Condition>();

  constructor(text: string, substitute: Substitute) {
    this.#text = text;
    this.#substitute = substitute;
    if (text.trim() === '') invalid('The expression can not be empty');
    if (Buffer.byteLength(text) > 4096) invalid('Expression size has exceeded the maximum allowed size');
    for (const [, token, wrong] of text.trim().matchAll(new RegExp(tokenPattern, 'g'))) {
      if (token === undefined) this.#fail(wrong);
      this.#tokens.push(token);
    }
    if (this.#tokens.length > mostOperators * 4) throw new Unsupported('expressions of this length');
  }

  end(): void {
    if (this.#tokens.length > 0) this.#fail();
  }

  condition(): Condition {
    return this.#joined('or', () => this.#joined('and', () => this.#negation()));
  }

  projection(): Path[] {
    const paths = this.#list(() => this.path());
    refuseOverlaps(paths);
    return paths;
  }

  update(): Action[] {
    const actions: Action[] = [];
    const seen = new Set<string>();
    while (this.#tokens.length > 0) {
      const clause = this.#next().toUpperCase();
      if (seen.has(clause)) invalid(`The "${clause}" section can only be used once in an update expression`);
      seen.add(clause);
      if (clause === 'SET')
        actions.push(
          ...this.#list(() => {
            const path = this.path();
            this.#expect('=');
            return { kind: 'SET', path, value: this.#assigned() } as const;
          }),
        );
      else if (clause === 'REMOVE')
        actions.push(...this.#list(() => ({ kind: 'REMOVE', path: this.path() }) as const));
      else if (clause === 'ADD' || clause === 'DELETE')
        actions.push(
          ...this.#list(() => {
            const [path, value] = [this.path(), this.#value()];
            const isSet = 'SS' in value || 'NS' in value || 'BS' in value;
            if (!isSet && (clause === 'DELETE' || value.N === undefined)) incorrect(clause, value);
            return { kind: clause, path, value } as const;
          }),
        );
      else this.#fail(clause);
    }
    refuseOverlaps(actions.map(({ path }) => path));
    return actions;
  }

  path(): Path {
    const path: (string | number)[] = [this.#name()];
    for (;;)
      if (this.#accept('.')) path.push(this.#name());
      else if (this.#accept('[')) {
        const index = this.#next();
        if (!/^\d+$/.test(index)) this.#fail(index);
        path.push(Number(index));
        this.#expect(']');
      } else return path;
  }

  #joined(kind: 'and' | 'or', part: () => Condition): Condition {
    let left = part();
    while (this.#accept(kind)) left = { kind, left, right: part() };
    return left;
  }

  #negation(): Condition {
    return this.#accept('not') ? { kind: 'not', condition: this.#negation() } : this.#primary();
  }

  #primary(): Condition {
    if (this.#accept('(')) {
      const condition = this.condition();
      this.#expect(')');
      if (this.#enclosed.has(condition)) invalid('The expression has redundant parentheses');
      this.#enclosed.add(condition);
      return condition;
    }
    if (this.#tokens[1] === '(' && this.#tokens[0] !== 'size') return this.#call();
    const operand = this.#operand();
    if (this.#accept('between')) {
      const low = this.#operand();
      if (!this.#accept('and')) this.#fail();
      return checkedBetween(operand, low, this.#operand());
    }
    if (this.#accept('in')) {
      this.#expect('(');
      const among = this.#list(() => this.#operand());
      this.#expect(')');
      if (among.length > 100) invalid('The IN operator is provided with too many operands');
      for (const each of among) refuseSame('IN', operand, each);
      return { kind: 'in', operand, among };
    }
    if (this.#tokens[0] === ')') throw new Unsupported('parentheses around an operand');
    const comparator = comparators.find((each) => this.#accept(each)) ?? this.#fail();
    const right = this.#operand();
    if (comparator !== '=' && comparator !== '<>')
      for (const each of [operand, right]) refuseUnordered(comparator, each);
    refuseSame(comparator, operand, right);
    return { kind: 'compare', comparator, left: operand, right };
  }

  #call(): Condition {
    const token = this.#next();
    const name =
      functions.find((each) => each === token) ?? invalid(`Invalid function name; function: ${token}`);
    this.#expect('(');
    const operands = this.#list(() => this.#operand());
    this.#expect(')');
    const [first, second] = operands as [Operand, Operand?];
    if (operands.length !== (name.endsWith('exists') ? 1 : 2))
      invalid(`Incorrect number of operands for operator or function; operator or function: ${name}`);
    if (second === undefined) {
      if (first.kind !== 'path')
        invalid(`Operator or function requires a document path; operator or function: ${name}`);
      return { kind: 'call', name, first };
    }
    if (name === 'attribute_type') {
      if (second.kind !== 'value' || second.value.S === undefined) incorrect(name, second);
      if (!types.includes(second.value.S as Type))
        invalid(`Invalid attribute type name found; type: ${second.value.S}`);
    }
    if (name === 'begins_with')
      for (const each of operands)
        if (each.kind === 'size' || (each.kind === 'value' && !['S', 'B'].includes(typeOf(each.value))))
          incorrect(name, each);
    refuseSame(name, first, second);
    return { kind: 'call', name, first, second };
  }

  #operand(): Operand {
    if (this.#tokens[0] === 'size' && this.#tokens[1] === '(') {
      this.#next();
      this.#expect('(');
      const of = this.#operand();
      this.#expect(')');
      if (of.kind === 'size' || (of.kind === 'value' && ['N', 'BOOL', 'NULL'].includes(typeOf(of.value))))
        incorrect('size', of);
      return { kind: 'size', of };
    }
    if (this.#tokens[0]?.startsWith(':') === true) return { kind: 'value', value: this.#value() };
    return { kind: 'path', path: this.path() };
  }

  #assigned(): Assigned {
    const left = this.#summand();
    const sign = (['+', '-'] as const).find((each) => this.#accept(each));
    if (sign === undefined) return left;
    const right = this.#summand();
    for (const each of [left, right])
      if (each.kind === 'value' && each.value.N === undefined) incorrect(sign, each);
      else if (each.kind === 'list_append') misplaced(each.kind);
    return { kind: 'sum', sign, left, right };
  }

  #summand(): Assigned {
    if (this.#tokens[1] !== '(') {
      if (this.#tokens[0] === '(') throw new Unsupported('parentheses in an update expression');
      const operand = this.#operand();
      return operand;
    }
    const name = this.#next();
    if (name !== 'if_not_exists' && name !== 'list_append')
      invalid(`Invalid function name; function: ${name}`);
    this.#expect('(');
    const operands = this.#list(() => this.#summand());
    this.#expect(')');
    if (operands.length !== 2)
      invalid(`Incorrect number of operands for operator or function; operator or function: ${name}`);
    const [left, right] = operands as [Assigned, Assigned];
    if (name === 'if_not_exists') {
      if (left.kind !== 'path')
        invalid(`Operator or function requires a document path; operator or function: ${name}`);
      if (right.kind === 'list_append') misplaced(right.kind);
      if (right.kind === 'path') refuseSame(name, left, right);
      return { kind: name, path: left.path, otherwise: right };
    }
    for (const each of operands)
      if (each.kind === 'value' && each.value.L === undefined) incorrect(name, each);
      else if (each.kind === name) misplaced(name);
    return { kind: name, left, right };
  }

  #value(): Value {
    const token = this.#next();
    return token.startsWith(':') ? this.#substitute.value(token) : this.#fail(token);
  }

  #name(): string {
    const token = this.#next();
    if (token.startsWith('#')) return this.#substitute.name(token);
    if (!/^[A-Za-z]/.test(token)) this.#fail(token);
    if (reservedWords.has(token.toUpperCase()))
      invalid(`Attribute name is a reserved keyword; reserved keyword: ${token}`);
    return token;
  }

  #list<Result>(part: () => Result): Result[] {
    const all = [part()];
    while (this.#accept(',')) all.push(part());
    return all;
  }

  #next(): string {
    return this.#tokens.shift() ?? this.#fail('end');
  }

  #accept(token: string): boolean {
    const found = this.#tokens[0]?.toLowerCase() === token;
    if (found) this.#tokens.shift();
    return found;
  }

  #expect(token: string): void {
    if (!this.#accept(token)) this.#fail();
  }

  #fail(token = this.#tokens[0]): never {
    return invalid(`Syntax error; token: ${token ?? '<EOF>'}, near: "${this.#text}"`);
  }
}

function incorrect(operator: string, operand: Operand | Value): never {
  const type =
    'kind' in operand ? (operand.kind === 'value' ? typeOf(operand.value) : operand.kind) : typeOf(operand);
  invalid(
    `Incorrect operand type for operator or function; operator or function: ${operator}, operand type: ${type}`,
  );
}

function misplaced(name: string): never {
  invalid(`The function is not allowed to be used this way in an expression; function: ${name}`);
}

function refuseUnordered(operator: string, operand: Operand): void {
  if (operand.kind === 'value' && !['S', 'N', 'B'].includes(typeOf(operand.value)))
    incorrect(operator, operand);
}

function refuseSame(operator: string, left: Operand, right: Operand): void {
  if (
    left.kind === 'path' &&
    right.kind === 'path' &&
    JSON.stringify(left.path) === JSON.stringify(right.path)
  )
    invalid(`The first operand must be distinct from the remaining operands; operator: ${operator}`);
}

function checkedBetween(operand: Operand, low: Operand, high: Operand): Condition {
  for (const each of [operand, low, high]) refuseUnordered('BETWEEN', each);
  for (const each of [low, high]) refuseSame('BETWEEN', operand, each);
  if (low.kind === 'value' && high.kind === 'value') {
    const compared = order(low.value, high.value);
    if (compared === undefined)
      invalid('The BETWEEN operator requires same data type for lower and upper bounds');
    if (compared > 0)
      invalid('The BETWEEN operator requires upper bound to be greater than or equal to lower bound');
  }
  return { kind: 'between', operand, low, high };
}

/** @throws Refusal if one path leads into another one, or needs another type of the same value */
function refuseOverlaps(paths: readonly Path[]): void {
  for (const [index, path] of paths.entries())
    for (const other of paths.slice(0, index)) {
      const fork = path.findIndex((segment, at) => segment !== other[at]);
      if (fork === -1 || fork === other.length) invalid('Two document paths overlap with each other');
      if (typeof path[fork] !== typeof other[fork]) invalid('Two document paths conflict with each other');
    }
}
