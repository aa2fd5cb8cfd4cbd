import { unmarshall } from '@aws-sdk/util-dynamodb';
import Big from 'big.js';
import { invalid } from './errors.ts';

/** A value as in the JSON of DynamoDB's protocol, where binary data is Base64. Exactly one member is set. */
export interface Value {
  readonly S?: string;
  readonly N?: string;
  readonly B?: string;
  readonly BOOL?: boolean;
  readonly NULL?: boolean;
  readonly L?: readonly Value[];
  readonly M?: Item;
  readonly SS?: readonly string[];
  readonly NS?: readonly string[];
  readonly BS?: readonly string[];
}
export type Type = keyof Value;
export type Item = Readonly<Record<string, Value>>;

export const types: readonly Type[] = ['S', 'N', 'B', 'BOOL', 'NULL', 'L', 'M', 'SS', 'NS', 'BS'];
/** Levels of lists and maps within an attribute. */
const deepest = 31;
/** Most numbers, which stay as they are. */
const isPlain = /^(?:0|-?[1-9]\d{0,37})$/;

export function typeOf(value: Value): Type {
  return Object.keys(value)[0] as Type;
}

/** An item as clients of the SDK have it: with binary data as bytes. */
export type ClientItem = Parameters<typeof unmarshall>[0];

/** An item as in the JSON of DynamoDB's protocol. */
export function toWire(item: ClientItem): Item {
  const encoded = (data: ArrayBuffer | ArrayBufferView) =>
    (ArrayBuffer.isView(data)
      ? Buffer.from(data.buffer, data.byteOffset, data.byteLength)
      : Buffer.from(data)
    ).toString('base64');
  return withBinary({ M: item }, encoded).M as Item;
}

/** The item as the document client returns it. */
export function fromWire(item: Item): Record<string, unknown> {
  return unmarshall(withBinary({ M: item }, (base64) => new Uint8Array(bytes(base64))).M as ClientItem);
}

/** A value with its binary data in another form. */
function withBinary(value: object, convert: (data: never) => unknown): Readonly<Record<string, unknown>> {
  const {
    B: data,
    BS: all,
    L: list,
    M: map,
  } = value as { B?: never; BS?: never[]; L?: object[]; M?: object };
  if (data !== undefined) return { B: convert(data) };
  if (all !== undefined) return { BS: all.map(convert) };
  if (list !== undefined) return { L: list.map((each) => withBinary(each, convert)) };
  if (map === undefined) return { ...value };
  const entries = Object.entries(map).map(([name, each]) => [name, withBinary(each as object, convert)]);
  return { M: Object.fromEntries(entries) as unknown };
}

/** The members of a set, or undefined. */
export function setOf({ SS, NS, BS }: Value): readonly string[] | undefined {
  return SS ?? NS ?? BS;
}

/** The item with its numbers as DynamoDB returns them. @throws Refusal of a value that DynamoDB does not store */
export function normalized(item: Item, depth = 0): Item {
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, normalize(value, depth)]));
}

export function normalize(value: Value, depth = 0): Value {
  const [type, ...more] = Object.keys(value) as Type[];
  if (type === undefined || more.length > 0 || !types.includes(type))
    invalid('Supplied AttributeValue must contain exactly one of the supported datatypes');
  if (depth > deepest) invalid('Nesting Levels have exceeded supported limits');
  if (value.N !== undefined) return isPlain.test(value.N) ? value : { N: decimal(value.N).toFixed() };
  if (value.NULL === false) invalid('Null attribute value types must have the value of true');
  if (value.L !== undefined) return { L: value.L.map((each) => normalize(each, depth + 1)) };
  if (value.M !== undefined) return { M: normalized(value.M, depth + 1) };
  const members = setOf(value);
  if (members === undefined) return value;
  const unique = new Set(value.NS === undefined ? members : members.map((each) => decimal(each).toFixed()));
  if (members.length === 0) invalid('An set may not be empty');
  if (unique.size < members.length) invalid('Input collection contains duplicates.');
  return { [type]: [...unique] };
}

/** Of normalized values. */
export function equal(left: Value, right: Value): boolean {
  const type = typeOf(left);
  if (type !== typeOf(right)) return false;
  if (left.L !== undefined)
    return left.L.length === right.L!.length && left.L.every((each, index) => equal(each, right.L![index]!));
  if (left.M !== undefined) {
    const entries = Object.entries(left.M);
    return (
      entries.length === Object.keys(right.M!).length &&
      entries.every(([name, value]) => right.M![name] !== undefined && equal(value, right.M![name]))
    );
  }
  const members = setOf(left);
  if (members === undefined) return left[type] === right[type];
  return members.length === setOf(right)!.length && members.every((each) => setOf(right)!.includes(each));
}

/** Below, equal to or above 0. Undefined if DynamoDB does not order the two. */
export function order(left: Value, right: Value): number | undefined {
  if (left.S !== undefined && right.S !== undefined)
    return Buffer.compare(Buffer.from(left.S), Buffer.from(right.S));
  if (left.B !== undefined && right.B !== undefined) return Buffer.compare(bytes(left.B), bytes(right.B));
  if (left.N === undefined || right.N === undefined) return undefined;
  return decimal(left.N).cmp(decimal(right.N));
}

export function bytes(base64: string): Buffer {
  return Buffer.from(base64, 'base64');
}

/** `left + right`, or `left - right`. */
export function sum(left: string, right: string, sign: '+' | '-' = '+'): string {
  const [a, b] = [decimal(left), decimal(right)];
  return inRange(sign === '+' ? a.plus(b) : a.minus(b)).toFixed();
}

function decimal(text: string): Big {
  if (!/^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(text))
    invalid(`The parameter cannot be converted to a numeric value: ${text}`);
  return inRange(new Big(text.replace('+', '')));
}

/** https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html#HowItWorks.DataTypes.Number */
function inRange(number: Big): Big {
  if (number.c.length > 38) invalid('Attempting to store more than 38 significant digits in a Number');
  if (number.e > 125) invalid('Number overflow');
  if (number.e < -130) invalid('Number underflow');
  return number;
}
