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
/** The functions of conditions, and how many operands they have. */
const functions = {
  attribute_exists: 1,
  attribute_not_exists: 1,
  attribute_type: 2,
  begins_with: 2,
  contains: 2,
} as const;
export type Operator = (typeof comparators)[number] | 'BETWEEN' | 'IN' | keyof typeof functions;

export type Condition =
  | { readonly kind: 'and' | 'or' | 'not'; readonly parts: readonly Condition[] }
  | { readonly kind: 'test'; readonly operator: Operator; readonly operands: readonly Operand[] };

/** What `SET` assigns. */
export type Assigned =
  | Operand
  | {
      readonly kind: '+' | '-' | 'if_not_exists' | 'list_append';
      readonly operands: readonly [Assigned, Assigned];
    };

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
    while (this.#accept(kind)) left = { kind, parts: [left, part()] };
    return left;
  }

  #negation(): Condition {
    return this.#accept('not') ? { kind: 'not', parts: [this.#negation()] } : this.#primary();
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
    const first = this.#operand();
    if (this.#accept('between')) {
      const low = this.#operand();
      this.#expect('and');
      return tested('BETWEEN', [first, low, this.#operand()]);
    }
    if (this.#accept('in')) return tested('IN', [first, ...this.#enclosedList(() => this.#operand())]);
    if (this.#tokens[0] === ')') throw new Unsupported('parentheses around an operand');
    const comparator = comparators.find((each) => this.#accept(each)) ?? this.#fail();
    return tested(comparator, [first, this.#operand()]);
  }

  #call(): Condition {
    const name = this.#next();
    if (!Object.hasOwn(functions, name)) invalid(`Invalid function name; function: ${name}`);
    const operator = name as keyof typeof functions;
    const operands = this.#enclosedList(() => this.#operand());
    if (operands.length !== functions[operator]) miscounted(name);
    return tested(operator, operands);
  }

  #operand(): Operand {
    if (this.#tokens[0] === 'size' && this.#tokens[1] === '(') {
      this.#next();
      const [of, ...others] = this.#enclosedList(() => this.#operand());
      if (others.length > 0) miscounted('size');
      if (of!.kind === 'size') incorrect('size', of!);
      onlyOf('size', of!, ['S', 'B', 'L', 'M', 'SS', 'NS', 'BS']);
      return { kind: 'size', of: of! };
    }
    if (this.#tokens[0]?.startsWith(':') === true) return { kind: 'value', value: this.#value() };
    return { kind: 'path', path: this.path() };
  }

  #assigned(): Assigned {
    if (this.#accept('(')) {
      if (this.#tokens[0] === '(') invalid('The expression has redundant parentheses');
      const assigned = this.#assigned();
      this.#expect(')');
      if (['+', '-'].includes(this.#tokens[0] ?? '')) throw new Unsupported('arithmetic with parentheses');
      return assigned;
    }
    const left = this.#summand();
    const kind = (['+', '-'] as const).find((each) => this.#accept(each));
    if (kind === undefined) return left;
    const operands = [left, this.#summand()] as const;
    for (const each of operands)
      if (each.kind === 'list_append') misplaced(each.kind);
      else onlyOf(kind, each, ['N']);
    return { kind, operands };
  }

  #summand(): Assigned {
    if (this.#tokens[1] !== '(') {
      if (this.#tokens[0] === '(') throw new Unsupported('parentheses in an update expression');
      return this.#operand();
    }
    const kind = this.#next();
    if (kind !== 'if_not_exists' && kind !== 'list_append')
      invalid(`Invalid function name; function: ${kind}`);
    const operands = this.#enclosedList(() => this.#summand()) as [Assigned, Assigned];
    if (operands.length !== 2) miscounted(kind);
    for (const each of operands)
      if (each.kind === 'list_append') misplaced(each.kind);
      else if (kind === 'list_append') onlyOf(kind, each, ['L']);
    if (kind === 'if_not_exists') {
      onlyPath(kind, operands[0]);
      refuseSame(kind, operands);
    }
    return { kind, operands };
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

  #enclosedList<Result>(part: () => Result): Result[] {
    this.#expect('(');
    const all = this.#list(part);
    this.#expect(')');
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

function miscounted(name: string): never {
  invalid(`Incorrect number of operands for operator or function; operator or function: ${name}`);
}

function onlyOf(operator: string, operand: Assigned, allowed: readonly Type[]): void {
  if (operand.kind === 'value' && !allowed.includes(typeOf(operand.value))) incorrect(operator, operand);
}

function onlyPath(operator: string, { kind }: Assigned): void {
  if (kind !== 'path')
    invalid(`Operator or function requires a document path; operator or function: ${operator}`);
}

function refuseSame(operator: string, [first, ...others]: readonly Assigned[]): void {
  if (others.some((each) => each.kind === 'path' && JSON.stringify(each) === JSON.stringify(first)))
    invalid(`The first operand must be distinct from the remaining operands; operator: ${operator}`);
}

/** The condition, unless its operands are wrong whatever the item is. */
function tested(operator: Operator, operands: readonly Operand[]): Condition {
  const [first, second, third] = operands as [Operand, Operand?, Operand?];
  refuseSame(operator, operands);
  switch (operator) {
    case 'attribute_exists':
    case 'attribute_not_exists':
      onlyPath(operator, first);
      break;
    case 'attribute_type':
      if (second!.kind !== 'value' || second!.value.S === undefined) incorrect(operator, second!);
      if (!types.includes(second!.value.S as Type))
        invalid(`Invalid attribute type name found; type: ${second!.value.S}`);
      break;
    case 'begins_with':
      for (const each of operands)
        if (each.kind === 'size') incorrect(operator, each);
        else onlyOf(operator, each, ['S', 'B']);
      break;
    case 'IN':
      if (operands.length > 101) invalid('The IN operator is provided with too many operands');
      break;
    case '<':
    case '<=':
    case '>':
    case '>=':
    case 'BETWEEN':
      for (const each of operands) onlyOf(operator, each, ['S', 'N', 'B']);
      if (second?.kind !== 'value' || third?.kind !== 'value') break;
      if (typeOf(second.value) !== typeOf(third.value))
        invalid('The BETWEEN operator requires same data type for lower and upper bounds');
      if (order(second.value, third.value)! > 0)
        invalid('The BETWEEN operator requires upper bound to be greater than or equal to lower bound');
      break;
    case '=':
    case '<>':
    case 'contains':
      break;
  }
  return { kind: 'test', operator, operands };
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
