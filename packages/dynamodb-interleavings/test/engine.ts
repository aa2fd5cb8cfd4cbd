import { normalize, setOf, typeOf, type Value } from '../src/tables/values.ts';
import { Refusal, type Tables, Unsupported } from '../src/simulation.ts';

/** What a call comes to: an output, or the name of an error and its reasons. */
export interface Outcome {
  readonly error?: string;
  readonly reasons?: readonly { readonly Code: string }[];
  readonly LastEvaluatedKey?: object | undefined;
  readonly Attributes?: object | undefined;
  readonly Items?: readonly object[];
}

/** An engine that listens at `endpoint`. */
export class Engine {
  readonly #endpoint: string;

  constructor(endpoint: string) {
    this.#endpoint = endpoint;
  }

  async call(operation: string, input: object): Promise<Outcome> {
    const credential =
      'AWS4-HMAC-SHA256 Credential=interleavings/20300101/eu-central-1/dynamodb/aws4_request';
    const response = await fetch(this.#endpoint, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-date': '20300101T000000Z',
        'x-amz-target': `DynamoDB_20120810.${operation}`,
        authorization: `${credential}, SignedHeaders=host, Signature=0`,
      },
      body: JSON.stringify(input),
    });
    const output = (await response.json()) as { __type?: string };
    return response.ok
      ? comparable(output)
      : { error: output.__type!.split('#').at(-1)!, ...reasonsOf(output) };
  }
}

export function callTables(tables: Tables, operation: string, input: object): Outcome {
  try {
    return comparable(tables.call(operation, input));
  } catch (error) {
    if (error instanceof Unsupported) return { error: 'Unsupported' };
    if (!(error instanceof Refusal)) throw error;
    return { error: error.type, ...reasonsOf(error.members) };
  }
}

/** Messages differ. */
function reasonsOf(error: {
  __type?: string;
  CancellationReasons?: readonly { Code: string; Item?: object }[];
  Item?: object;
}): Outcome {
  const { CancellationReasons: reasons, Item: item } = error;
  const shown = reasons?.map(({ Code: code, Item: each }) => ({
    Code: code,
    ...(each && { Item: comparable(each) }),
  }));
  return { ...(shown && { reasons: shown }), ...(item && { Item: comparable(item) }) };
}

/** Without the order of sets and of unordered answers. */
function comparable(output: unknown): Outcome {
  return JSON.parse(
    JSON.stringify(output, (name, each: unknown) => {
      if (['UnprocessedKeys', 'UnprocessedItems', 'ConsumedCapacity'].includes(name)) return undefined;
      if (each === null || typeof each !== 'object' || Array.isArray(each)) return each;
      // BatchGetItem has its items in any order.
      if (name === 'Responses' && !Array.isArray(each))
        return Object.fromEntries(
          Object.entries(each).map(([table, items]: [string, object[]]) => [
            table,
            items.map((item) => JSON.stringify(comparable(item))).toSorted(),
          ]),
        );
      const value: Value = each;
      const members = setOf(value);
      // DynamoDB Local returns some numbers as they were written.
      if (typeof value.N === 'string') return normalize(value);
      if (Array.isArray(members)) return { [typeOf(value)]: members.toSorted((a, b) => (a < b ? -1 : 1)) };
      return Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    }),
  ) as Outcome;
}
