import { describe, expect, test } from 'vitest';
import { type TableDefinition } from '../../src/index.ts';
import { Refusal, Tables, Unsupported } from '../../src/simulation.ts';

// These tests are about what no engine on a laptop shows. The rest is compared with one in test/integration.

const definition: TableDefinition = {
  TableName: 'Items',
  KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
  AttributeDefinitions: [
    { AttributeName: 'id', AttributeType: 'S' },
    { AttributeName: 'kind', AttributeType: 'S' },
  ],
  GlobalSecondaryIndexes: [
    {
      IndexName: 'byKind',
      KeySchema: [{ AttributeName: 'kind', KeyType: 'HASH' }],
      Projection: { ProjectionType: 'ALL' },
    },
  ],
  TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true },
};

function atNoon() {
  const clock = { now: Date.parse('2026-07-01T12:00:00Z') };
  return { clock, tables: new Tables([definition], () => clock.now) };
}

const put = (id: string, more: object = {}) => ({
  TransactItems: [{ Put: { TableName: 'Items', Item: { id: { S: id }, ...more } } }],
  ClientRequestToken: 'token',
});

const typeOf = (run: () => unknown): string => {
  try {
    run();
    return 'done';
  } catch (error) {
    return error instanceof Refusal ? error.type : String(error);
  }
};

describe('a transaction with a token', () => {
  test('is applied once within ten minutes, and again after them', () => {
    const { clock, tables } = atNoon();
    tables.call('TransactWriteItems', put('a'));
    tables.delete('Items', { id: { S: 'a' } });
    clock.now += 599_999;
    tables.call('TransactWriteItems', put('a'));
    expect(tables.items('Items')).toEqual([]);
    clock.now += 1;
    tables.call('TransactWriteItems', put('a'));
    expect(tables.items('Items')).toEqual([{ id: 'a' }]);
  });

  test('is refused with other parameters', () => {
    const { tables } = atNoon();
    tables.call('TransactWriteItems', put('a'));
    expect(typeOf(() => tables.call('TransactWriteItems', put('b')))).toBe(
      'IdempotentParameterMismatchException',
    );
  });
});

test('what has expired is there until it is deleted', () => {
  const { clock, tables } = atNoon();
  tables.put('Items', { id: { S: 'a' }, expiresAt: { N: String(clock.now / 1000 + 1) } });
  tables.put('Items', { id: { S: 'b' } });
  tables.expire();
  expect(tables.items('Items')).toHaveLength(2);
  clock.now += 1_000;
  expect(tables.items('Items')).toHaveLength(2);
  tables.expire();
  expect(tables.items('Items')).toEqual([{ id: 'b' }]);
});

test('an index lags by item, and a consistent read does not', () => {
  const { clock, tables } = atNoon();
  for (const id of ['a', 'b']) tables.put('Items', { id: { S: id }, kind: { S: 'x' } });
  const before = clock.now;
  clock.now += 1_000;
  for (const id of ['a', 'b']) tables.put('Items', { id: { S: id }, kind: { S: 'y' } });
  const query = {
    TableName: 'Items',
    IndexName: 'byKind',
    KeyConditionExpression: 'kind = :x',
    ExpressionAttributeValues: { ':x': { S: 'x' } },
  };
  const asOf = (key: object) => (JSON.stringify(key).includes('"a"') ? before : clock.now);
  expect(tables.call('Query', query, { asOf })).toMatchObject({ Items: [{ id: { S: 'a' } }] });
  const get = { TableName: 'Items', Key: { id: { S: 'a' } } };
  expect(tables.call('GetItem', get, { asOf })).toMatchObject({ Item: { kind: { S: 'x' } } });
  expect(tables.call('GetItem', { ...get, ConsistentRead: true }, { asOf })).toMatchObject({
    Item: { kind: { S: 'y' } },
  });
});

test.each([
  ['ExecuteStatement', {}, 'the operation ExecuteStatement'],
  [
    'TransactWriteItems',
    { TransactItems: [{ Put: { TableName: 'Items', Expected: {} } }] },
    'Expected of Put',
  ],
  ['Scan', { TableName: 'Items', TotalSegments: 2 }, 'TotalSegments of Scan'],
  ['Scan', { TableName: 'Items', ScanFilter: {} }, 'ScanFilter of Scan'],
  ['Query', { TableName: 'Items', KeyConditions: {} }, 'KeyConditions of Query'],
  [
    'GetItem',
    { TableName: 'Items', Key: {}, ReturnConsumedCapacity: 'TOTAL' },
    'ReturnConsumedCapacity of GetItem',
  ],
])('%s %o is refused by name', (operation, input, name) => {
  const { tables } = atNoon();
  expect(() => tables.call(operation, input)).toThrow(new Unsupported(name));
});

// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LegacyConditionalParameters.AttributesToGet.html
test('AttributesToGet names attributes, and does not go with expressions', () => {
  const { tables } = atNoon();
  tables.put('Items', { id: { S: 'a' }, kind: { S: 'x' }, n: { N: '1' } });
  const [get, scan] = [{ TableName: 'Items', Key: { id: { S: 'a' } } }, { TableName: 'Items' }];
  const AttributesToGet = ['kind', 'none'];
  expect(tables.call('GetItem', { ...get, AttributesToGet })).toEqual({ Item: { kind: { S: 'x' } } });
  expect(tables.call('Scan', { ...scan, AttributesToGet })).toMatchObject({ Items: [{ kind: { S: 'x' } }] });
  for (const more of [{ ProjectionExpression: 'id' }, { FilterExpression: 'attribute_exists(id)' }])
    expect(typeOf(() => tables.call('Scan', { ...scan, AttributesToGet, ...more }))).toBe(
      'ValidationException',
    );
});

test('numbers are exact, and returned as DynamoDB does', () => {
  const { tables } = atNoon();
  const n = ['+4', '007', '1.10', '1e2', '-1E-3', '0.30', '-0', '12345678901234567890123456789012345678'];
  tables.put('Items', { id: { S: 'a' }, n: { L: n.map((each) => ({ N: each })) } });
  const stored = tables.versions('Items')[0]![0]!.item!['n']!.L!.map(({ N: each }) => each);
  expect(stored).toEqual(['4', '7', '1.1', '100', '-0.001', '0.3', '0', n.at(-1)]);
  for (const wrong of ['', '.', 'NaN', '1e126', '1e-131', `${n.at(-1)}9`])
    expect(typeOf(() => tables.put('Items', { id: { S: 'a' }, n: { N: wrong } }))).toBe(
      'ValidationException',
    );
});

/*
 * What engines on a laptop answer otherwise, by public tests and reports that were made on AWS:
 * [1] https://github.com/scylladb/scylladb/blob/master/test/alternator/test_returnvalues.py
 * [2] https://github.com/nubo-db/dynoxide/issues/36
 * [3] https://github.com/nubo-db/dynoxide/issues/35
 * [4] https://github.com/scylladb/scylladb/blob/master/test/alternator/test_key_condition_expression.py
 * [5] https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html
 * [6] https://github.com/scylladb/scylladb/pull/29501
 */
describe('as on AWS,', () => {
  const Key = { id: { S: 'a' } };
  const update = (tables: Tables, expression: string, more: object = {}) =>
    tables.call('UpdateItem', { TableName: 'Items', Key, UpdateExpression: expression, ...more });
  const stored = () => {
    const { tables } = atNoon();
    const list = { L: ['1', '2', '3'].map((N) => ({ N })) };
    tables.put('Items', { ...Key, a: { M: { b: { S: 'dog' }, c: list } }, n: { N: '10' }, d: { S: 'cat' } });
    return tables;
  };
  const values = { ExpressionAttributeValues: { ':v': { N: '3' } } };

  test.each(['REMOVE b', 'REMOVE a.b'])('%s makes no item [1]', (expression) => {
    const { tables } = atNoon();
    expect(update(tables, expression, { ReturnValues: 'ALL_NEW' })).toEqual({});
    expect(tables.items('Items')).toEqual([]);
    const condition = { ConditionExpression: 'attribute_exists(id)' };
    expect(typeOf(() => update(tables, expression, condition))).toBe('ConditionalCheckFailedException');
  });

  test.each([
    ['UPDATED_OLD', 'SET a.b = :v', { a: { M: { b: { S: 'dog' } } } }],
    ['UPDATED_NEW', 'SET a.b = :v', { a: { M: { b: { N: '3' } } } }],
    ['UPDATED_OLD', 'SET a.c[1] = :v', { a: { M: { c: { L: [{ N: '2' }] } } } }],
    ['UPDATED_NEW', 'SET a.c[1] = :v, a.b = :v', { a: { M: { b: { N: '3' }, c: { L: [{ N: '3' }] } } } }],
    ['UPDATED_OLD', 'SET n = :v REMOVE d', { n: { N: '10' }, d: { S: 'cat' } }],
    ['UPDATED_NEW', 'SET n = :v REMOVE d', { n: { N: '3' } }],
  ])('%s of `%s` is what has changed [1]', (returned, expression, attributes) => {
    expect(update(stored(), expression, { ...values, ReturnValues: returned })).toEqual({
      Attributes: attributes,
    });
  });

  test('UPDATED_NEW of what only removes has no attributes [2]', () => {
    expect(update(stored(), 'REMOVE d', { ReturnValues: 'UPDATED_NEW' })).toEqual({});
    expect(update(stored(), 'REMOVE a.c[2]', { ReturnValues: 'UPDATED_NEW' })).toEqual({});
  });

  test('UPDATED_NEW of an element that is removed is the one that has its index now [1]', () => {
    expect(update(stored(), 'REMOVE a.c[0]', { ReturnValues: 'UPDATED_NEW' })).toEqual({
      Attributes: { a: { M: { c: { L: [{ N: '2' }] } } } },
    });
  });

  test('UPDATED_NEW of an element beyond the end has no attributes [1]', () => {
    expect(update(stored(), 'SET a.c[100] = :v', { ...values, ReturnValues: 'UPDATED_NEW' })).toEqual({});
  });

  test('SET takes a value in parentheses [3]', () => {
    expect(update(stored(), 'SET n = (n - :v)', { ...values, ReturnValues: 'UPDATED_NEW' })).toEqual({
      Attributes: { n: { N: '7' } },
    });
  });

  test('a key condition can have its value first [4]', () => {
    const query = {
      TableName: 'Items',
      KeyConditionExpression: ':id = id',
      ExpressionAttributeValues: { ':id': { S: 'a' } },
    };
    expect(stored().call('Query', query)).toMatchObject({ Count: 1 });
    const lines: TableDefinition = {
      TableName: 'Lines',
      KeySchema: [
        { AttributeName: 'p', KeyType: 'HASH' },
        { AttributeName: 's', KeyType: 'RANGE' },
      ],
      AttributeDefinitions: [
        { AttributeName: 'p', AttributeType: 'S' },
        { AttributeName: 's', AttributeType: 'N' },
      ],
    };
    const tables = new Tables([lines], () => 0);
    for (const N of ['1', '2', '3']) tables.put('Lines', { p: { S: 'a' }, s: { N } });
    const counts = (condition: string) =>
      tables.call('Query', {
        TableName: 'Lines',
        KeyConditionExpression: `p = :p AND ${condition}`,
        ExpressionAttributeValues: { ':p': { S: 'a' }, ':v': { N: '2' } },
      });
    expect(counts(':v < s')).toMatchObject({ Items: [{ s: { N: '3' } }] });
    expect(counts(':v >= s')).toMatchObject({ Items: [{ s: { N: '1' } }, { s: { N: '2' } }] });
  });

  test('1 and 1.0 are one item, so a batch cannot write both, but it can get both [6]', () => {
    const numbers: TableDefinition = {
      TableName: 'Numbers',
      KeySchema: [{ AttributeName: 'n', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'n', AttributeType: 'N' }],
    };
    const tables = new Tables([numbers], () => 0);
    const keys = ['1', '1.0'].map((N) => ({ n: { N } }));
    const batch = (requests: object) => () =>
      tables.call('BatchWriteItem', { RequestItems: { Numbers: requests } });
    expect(typeOf(batch(keys.map((Item) => ({ PutRequest: { Item } }))))).toBe('ValidationException');
    tables.put('Numbers', keys[1]!);
    const get = (Keys: object) => tables.call('BatchGetItem', { RequestItems: { Numbers: { Keys } } });
    expect(get(keys)).toMatchObject({ Responses: { Numbers: [keys[0], keys[0]] } });
    expect(typeOf(() => get([keys[0], keys[0]]))).toBe('ValidationException');
  });

  test('a failed condition returns the old item or nothing [5]', () => {
    const more = { ConditionExpression: 'n = :v', ...values };
    expect(
      typeOf(() => update(stored(), 'REMOVE d', { ...more, ReturnValuesOnConditionCheckFailure: 'ALL_NEW' })),
    ).toBe('ValidationException');
  });
});
