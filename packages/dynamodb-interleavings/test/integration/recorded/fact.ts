import type { inject } from 'vitest';

/** The tests that recorded it, in their public repositories. */
const sources = {
  /** `@markers.aws.validated`, with the date in `test_dynamodb.validation.json`. */
  localstack: 'localstack/localstack tests/aws/services/dynamodb/test_dynamodb.py',
  /** `@pytest.mark.aws_verified`, as of 2026-08-22. */
  moto: 'getmoto/moto tests/test_dynamodb',
  /** All tests pass on DynamoDB in the run of 2026-05-14. Others have their own date. */
  conformance: 'nubo-db/dynamodb-conformance tests',
  /** Release 1.5.33 of 2026-10-26, where it says that it was seen on AWS. */
  ministack: 'ministackorg/ministack tests/test_dynamodb.py',
};

export type Engines = Readonly<Partial<Record<ReturnType<typeof inject<'database'>>, object>>>;
/** Without an outcome, it succeeds. `others` is what an engine answers otherwise. */
export type Call = readonly [operation: string, input: object, recorded?: object, others?: Engines];

export interface Fact {
  readonly source: keyof typeof sources;
  /** The test there, and when it ran on AWS if that is recorded. */
  readonly in: string;
  readonly words: string;
  readonly calls: readonly Call[];
}

export const [TableName, sorted, numbers] = ['PLAIN', 'SORTED', 'NUMBERS'];
export const s = (S: string) => ({ S });
export const n = (N: number | string) => ({ N: String(N) });
export const pk = (text: string) => ({ pk: s(text) });
export const Key = pk('a');
export const v = (value: object) => ({ ExpressionAttributeValues: { ':v': value } });
export const put = (Item: object, more: object = {}) => ({ TableName, Item, ...more });
export const stored = (Item: object): Call => ['PutItem', put(Item)];
export const item = (Item?: object): [string, object, object] => [
  'GetItem',
  { TableName, Key, ConsistentRead: true },
  Item ? { Item } : {},
];
export const update = (UpdateExpression: string, more: object = {}) => ({
  TableName,
  Key,
  UpdateExpression,
  ...more,
});
export const transact = (...TransactItems: readonly object[]) => ({ TransactItems });
export const write = (...items: readonly object[]): [string, object] => [
  'TransactWriteItems',
  transact(...items),
];
export const invalid = { error: 'ValidationException' };
export const notFound = { error: 'ResourceNotFoundException' };
export const cancelled = (...reasons: readonly (string | { Code: string; Item: object })[]) => ({
  error: 'TransactionCanceledException',
  reasons: reasons.map((each) => (typeof each === 'string' ? { Code: each } : each)),
});
export const found = (...Items: readonly object[]) => ({
  Items,
  Count: Items.length,
  ScannedCount: Items.length,
});
export const isOld = { ConditionExpression: 'attribute_exists(pk)' };
export const increment = update('SET n = n + :v', v(n(1)));
