import { invalid, Unsupported } from './errors.ts';
import {
  type Action,
  type Assigned,
  comparators,
  type Condition,
  functions,
  incorrect,
  miscounted,
  misplaced,
  onlyOf,
  onlyPath,
  type Operand,
  type Path,
  refuseOverlaps,
  refuseSame,
  tested,
} from './operands.ts';
import { reservedWords } from './reserved-words.ts';
import { normalize, type Value } from './values.ts';

/*
 * The grammar of expressions.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
 */

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
