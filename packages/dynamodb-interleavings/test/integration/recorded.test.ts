import { randomUUID } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { Tables } from '../../src/simulation.ts';
import type { TableDefinition } from '../../src/tables/schema.ts';
import { callTables, Engine } from '../engine.ts';

/*
 * What others have recorded on AWS: error codes, reasons and items, and no wording of messages. The tables in memory and the engine
 * have to answer the same. What an engine is known to answer otherwise stands beside it, so that a version that mends it fails here.
 */

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

type Engines = Readonly<Partial<Record<typeof database, object>>>;
/** Without an outcome, it succeeds. `others` is what an engine answers otherwise. */
type Call = readonly [operation: string, input: object, recorded?: object, others?: Engines];

interface Fact {
  readonly source: keyof typeof sources;
  /** The test there, and when it ran on AWS if that is recorded. */
  readonly in: string;
  readonly words: string;
  readonly calls: readonly Call[];
}

const database = inject('database');

const gsi = (projection: 'ALL' | 'KEYS_ONLY') => ({
  IndexName: 'gsi',
  KeySchema: [
    { AttributeName: 'gsi_pk', KeyType: 'HASH' as const },
    { AttributeName: 'gsi_sk', KeyType: 'RANGE' as const },
  ],
  Projection: { ProjectionType: projection },
});
const key = (...names: readonly string[]) =>
  names.map((name, index) => ({
    AttributeName: name,
    KeyType: index === 0 ? ('HASH' as const) : ('RANGE' as const),
  }));
const types = (...attributes: readonly `${string}:${'S' | 'N'}`[]) =>
  attributes.map((each) => ({
    AttributeName: each.slice(0, -2),
    AttributeType: each.slice(-1) as 'S' | 'N',
  }));
const definitions: Readonly<Record<string, Omit<TableDefinition, 'TableName'>>> = {
  PLAIN: {
    KeySchema: key('pk'),
    AttributeDefinitions: types('pk:S', 'gsi_pk:S', 'gsi_sk:S'),
    GlobalSecondaryIndexes: [gsi('KEYS_ONLY')],
  },
  SORTED: {
    KeySchema: key('pk', 'sk'),
    AttributeDefinitions: types('pk:S', 'sk:S', 'lsi_sk:S'),
    LocalSecondaryIndexes: [
      { IndexName: 'lsi', KeySchema: key('pk', 'lsi_sk'), Projection: { ProjectionType: 'ALL' } },
    ],
  },
  NUMBERS: {
    KeySchema: key('pk', 'sk'),
    AttributeDefinitions: types('pk:S', 'sk:N', 'gsi_pk:S', 'gsi_sk:N'),
    GlobalSecondaryIndexes: [gsi('ALL')],
  },
};

const [TableName, sorted, numbers] = ['PLAIN', 'SORTED', 'NUMBERS'];
const arn = 'arn:aws:dynamodb:us-east-1:123456789012:table/PLAIN';
const s = (S: string) => ({ S });
const n = (N: number | string) => ({ N: String(N) });
const pk = (text: string) => ({ pk: s(text) });
const Key = pk('a');
const v = (value: object) => ({ ExpressionAttributeValues: { ':v': value } });
const nested = (depth: number, within: object = s('leaf')): object =>
  depth === 0 ? within : nested(depth - 1, { M: { n: within } });

const put = (Item: object, more: object = {}) => ({ TableName, Item, ...more });
const stored = (Item: object): Call => ['PutItem', put(Item)];
const storedIn = (table: string, ...items: readonly object[]): Call[] =>
  items.map((Item) => ['PutItem', { TableName: table, Item }]);
const item = (Item?: object): [string, object, object] => [
  'GetItem',
  { TableName, Key, ConsistentRead: true },
  Item ? { Item } : {},
];
const update = (UpdateExpression: string, more: object = {}) => ({
  TableName,
  Key,
  UpdateExpression,
  ...more,
});
const transact = (...TransactItems: readonly object[]) => ({ TransactItems });
const write = (...items: readonly object[]): [string, object] => ['TransactWriteItems', transact(...items)];

const invalid = { error: 'ValidationException' };
const notFound = { error: 'ResourceNotFoundException' };
const failed = { error: 'ConditionalCheckFailedException' };
const cancelled = (...reasons: readonly (string | { Code: string; Item: object })[]) => ({
  error: 'TransactionCanceledException',
  reasons: reasons.map((each) => (typeof each === 'string' ? { Code: each } : each)),
});
const found = (...Items: readonly object[]) => ({ Items, Count: Items.length, ScannedCount: Items.length });

/** By the ARN of a table, Dynoxide knows none, and DynamoDB Local none in a transaction. */
const noArn: Engines = { dynoxide: invalid, 'dynamodb-local': notFound };
const isNew = { ConditionExpression: 'attribute_not_exists(pk)' };
const isOld = { ConditionExpression: 'attribute_exists(pk)' };
const noTable = { Put: { ...put(Key), TableName: 'NoSuchTable' } };
const unparsed = { ConditionCheck: { TableName, Key: pk('b'), ConditionExpression: 'attribute_exists(' } };
const unused = { ConditionCheck: { TableName, Key: pk('b'), ...isNew, ...v(s('x')) } };
const increment = update('SET n = n + :v', v(n(1)));

const facts: readonly Fact[] = [
  // Transactions.
  {
    source: 'localstack',
    in: 'test_transaction_write_items, 2026-01-07, Response',
    words: 'a transaction checks, puts, updates and deletes',
    calls: [
      [
        ...write(
          { ConditionCheck: { TableName, Key: pk('1'), ...isNew } },
          { Put: put(pk('2')) },
          { Update: update('SET b = :v', v(s('x'))) },
          { Delete: { TableName, Key: pk('4') } },
        ),
        {},
      ],
      item({ ...Key, b: s('x') }),
    ],
  },
  {
    source: 'localstack',
    in: 'test_transaction_write_items, 2026-01-07, Response_using_table_arn',
    words: 'a transaction writes by the ARN of the table',
    calls: [
      [...write({ Put: { TableName: arn, Item: Key } }), {}, noArn],
      [...item(Key), { dynoxide: {}, 'dynamodb-local': {} }],
    ],
  },
  {
    source: 'localstack',
    in: 'test_transact_get_items, 2026-01-08',
    words: 'a transaction reads by the ARN of the table',
    calls: [
      stored(Key),
      [
        'TransactGetItems',
        transact({ Get: { TableName: arn, Key } }),
        { Responses: [{ Item: Key }] },
        { ...noArn, dynoxide: cancelled('ValidationError') },
      ],
    ],
  },
  {
    source: 'localstack',
    in: 'test_transaction_write_canceled, 2025-10-08',
    words: 'the reasons stand in the order of the items',
    calls: [
      stored(Key),
      [
        ...write({ ConditionCheck: { TableName, Key, ...isNew } }, { Delete: { TableName, Key: pk('b') } }),
        cancelled('ConditionalCheckFailed', 'None'),
      ],
    ],
  },
  {
    source: 'localstack',
    in: 'test_dynamodb_idempotent_writing, 2025-10-08',
    words: 'with a token, the same item with its attributes in another order is the same request',
    calls: [
      [
        'TransactWriteItems',
        { ...transact({ Put: put({ pk: s('a'), b: s('x') }) }), ClientRequestToken: 'TOKEN' },
        {},
      ],
      [
        'TransactWriteItems',
        { ...transact({ Put: put({ b: s('x'), pk: s('a') }) }), ClientRequestToken: 'TOKEN' },
        {},
      ],
    ],
  },
  {
    source: 'conformance',
    in: 'tier2/transactions/transactWrite, rejects same ClientRequestToken with different payload',
    words: 'a token with another item is refused',
    calls: [
      ['TransactWriteItems', { ...transact({ Put: put({ ...Key, b: n(1) }) }), ClientRequestToken: 'TOKEN' }],
      [
        'TransactWriteItems',
        { ...transact({ Put: put({ ...Key, b: n(2) }) }), ClientRequestToken: 'TOKEN' },
        { error: 'IdempotentParameterMismatchException' },
      ],
    ],
  },
  {
    source: 'conformance',
    in: 'tier3/validation-ordering, refuses a ClientRequestToken over 36 characters, 2026-10-09',
    words: 'a token has 36 characters at most',
    calls: [
      ['TransactWriteItems', { ...transact({ Put: put(Key) }), ClientRequestToken: 'x'.repeat(37) }, invalid],
      item(),
    ],
  },
  {
    source: 'conformance',
    in: 'tier3/error-messages/transactWriteItems, one passing, one failing',
    words: 'what would have been written has the reason None',
    calls: [
      stored(Key),
      [
        ...write({ Put: put(pk('b'), isNew) }, { Put: put(Key, isNew) }),
        cancelled('None', 'ConditionalCheckFailed'),
      ],
    ],
  },
  {
    source: 'conformance',
    in: 'tier3/error-messages/transactWriteItems, two failing actions',
    words: 'each condition that fails has a reason',
    calls: [
      ...[Key, pk('b')].map(stored),
      [
        ...write({ Put: put(Key, isNew) }, { Put: put(pk('b'), isNew) }),
        cancelled('ConditionalCheckFailed', 'ConditionalCheckFailed'),
      ],
    ],
  },
  {
    source: 'moto',
    in: 'test_dynamodb_transact.py, test_transact_write_items_failure__return_item',
    words: 'a reason has the item if ReturnValuesOnConditionCheckFailure asks for it',
    calls: [
      stored({ ...Key, b: s('x') }),
      [
        ...write({
          Put: put(Key, { ...isNew, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }),
        }),
        cancelled({ Code: 'ConditionalCheckFailed', Item: { b: s('x'), ...Key } }),
      ],
    ],
  },
  {
    source: 'moto',
    in: 'exceptions/test_dynamodb_transactions.py, put_and_delete_with_different_key_order',
    words: 'a transaction has one operation on an item, in whatever order the key is',
    calls: [
      [
        ...write(
          { Put: { TableName: sorted, Item: { pk: s('a'), sk: s('b') } } },
          { Delete: { TableName: sorted, Key: { sk: s('b'), pk: s('a') } } },
        ),
        invalid,
      ],
    ],
  },
  {
    source: 'conformance',
    in: 'tier3/error-messages/transactWriteItems, empty TransactItems',
    words: 'a transaction has an item',
    calls: [[...write(), invalid]],
  },
  {
    source: 'conformance',
    in: 'tier3/limits/transactionLimits, 101 actions',
    words: 'a transaction has 100 items at most',
    calls: [
      [...write(...Array.from({ length: 101 }, (_, index) => ({ Put: put(pk(`${index}`)) }))), invalid],
    ],
  },
  {
    source: 'conformance',
    in: 'tier3/error-messages/transactWriteItems, action with no operation, 2026-10-09',
    words: 'an item of a transaction has an operation',
    calls: [[...write({}), invalid]],
  },
  {
    source: 'localstack',
    in: 'test_batch_write_not_existing_table, 2025-10-08',
    words: 'a table that does not exist refuses a transaction, even with an item without a key',
    calls: [[...write({ Put: { TableName: 'NoSuchTable', Item: {} } }), notFound]],
  },
  {
    source: 'ministack',
    in: 'test_dynamodb_transact_write_wrong_type_key_is_cancelled',
    words: 'a key of a wrong type cancels a transaction',
    calls: [
      [...write({ Put: put(pk('b')) }, { Put: put({ pk: n(5) }) }), cancelled('None', 'ValidationError')],
    ],
  },
  {
    source: 'conformance',
    in: 'tier3/error-messages/transactWriteItems, wrong-typed Key and non-scalar Key, 2026-06-23',
    words: 'so does one that an update, deletion or check is for',
    calls: [
      [
        ...write(
          { Update: { ...update('SET b = :v', v(s('x'))), Key: { pk: n(5) } } },
          { Delete: { TableName, Key: { pk: { L: [s('x')] } } } },
          { ConditionCheck: { TableName, Key: { pk: n(6) }, ...isNew } },
        ),
        cancelled('ValidationError', 'ValidationError', 'ValidationError'),
        { 'dynamodb-local': invalid },
      ],
    ],
  },
  {
    source: 'ministack',
    in: 'test_dynamodb_transact_condition_checked_before_update_expression, third transaction',
    words: 'a key of a wrong type cancels it before conditions are looked at',
    calls: [
      [
        ...write({ Update: { ...increment, Key: { pk: n(1) } } }, { Update: { ...increment, ...isOld } }),
        cancelled('ValidationError', 'None'),
        {
          dynoxide: cancelled('ValidationError', 'ConditionalCheckFailed'),
          'dynamodb-local': cancelled('ValidationError', 'ConditionalCheckFailed'),
        },
      ],
    ],
  },
  {
    source: 'ministack',
    in: 'test_dynamodb_transact_condition_checked_before_update_expression, second transaction',
    words:
      'an update that does not fit the item has the reason ValidationError, beside a condition that fails',
    calls: [
      [
        ...write({ Update: { ...increment, ...isOld } }, { Update: { ...increment, Key: pk('b') } }),
        cancelled('ConditionalCheckFailed', 'ValidationError'),
        { 'dynamodb-local': invalid },
      ],
    ],
  },
  {
    source: 'ministack',
    in: 'test_dynamodb_transact_condition_checked_before_update_expression, last transaction',
    words: 'a table that does not exist comes before an update that does not fit the item',
    calls: [[...write({ Update: increment }, noTable), notFound, { 'dynamodb-local': invalid }]],
  },
  {
    source: 'conformance',
    in: 'tier3/error-messages/transactWriteItems, Put and Update empty-string key, 2026-06-23',
    words: 'an empty key refuses a transaction as a whole',
    calls: [
      [...write({ Put: put(pk('')) }), invalid],
      [...write({ Update: { ...update('SET b = :v', v(s('x'))), Key: pk('') } }), invalid],
      [...write({ Delete: { TableName, Key: pk('') } }), invalid],
    ],
  },
  {
    source: 'conformance',
    in: 'tier3, TransactWriteItems: index key error messages, Put and Update wrong-typed index key',
    words: 'the key of an index with a wrong type cancels it',
    calls: [
      [...write({ Put: put({ ...Key, gsi_pk: n(5) }) }), cancelled('ValidationError')],
      [...write({ Update: update('SET gsi_pk = :v', v(n(5))) }), cancelled('ValidationError')],
    ],
  },
  {
    source: 'conformance',
    in: 'tier3, TransactWriteItems: index key error messages, Put and Update empty-string index key',
    words: 'an empty key of an index refuses it as a whole',
    calls: [
      [...write({ Put: put({ ...Key, gsi_pk: s('') }) }), invalid],
      [...write({ Update: update('SET gsi_pk = :v', v(s(''))) }), invalid],
    ],
  },
  {
    source: 'conformance',
    in: 'tier3/validation-ordering, malformed condition ahead of a missing table, 2026-10-09',
    words: 'expressions are parsed before tables are looked for',
    calls: [[...write(noTable, unparsed), invalid, { dynoxide: notFound }]],
  },
  {
    source: 'conformance',
    in: 'tier3/validation-ordering, unused value ahead of a missing table, 2026-10-09',
    words: 'a value that no expression uses refuses a transaction before that',
    calls: [
      [...write(noTable, unused), invalid, { dynoxide: notFound }],
      [...write(unused, noTable), invalid, { dynoxide: notFound }],
    ],
  },
  {
    source: 'moto',
    in: 'exceptions/test_dynamodb_transactions.py, update_with_multiple_set_clauses',
    words: 'an expression that is wrong refuses a transaction as a whole',
    calls: [
      [
        ...write({ Update: update('SET b = :v SET c = :v', v(s('x'))) }),
        invalid,
        { dynoxide: cancelled('ValidationError') },
      ],
    ],
  },
  {
    source: 'moto',
    in: 'exceptions/test_dynamodb_transactions.py, empty_expr_attr_values',
    words: 'so do no values',
    calls: [
      [...write({ Put: put(Key, { ...isNew, ExpressionAttributeValues: {} }) }), invalid, { dynoxide: {} }],
    ],
  },
  {
    source: 'ministack',
    in: 'test_dynamodb_transact_write_update_type_mismatch_is_cancelled',
    words: 'a number cannot be added to a set, which cancels a transaction',
    calls: [
      stored({ ...Key, tags: { SS: ['x'] } }),
      [
        ...write({ Update: update('ADD tags :v', v(n(5))) }),
        cancelled('ValidationError'),
        { 'dynamodb-local': invalid },
      ],
    ],
  },
  {
    source: 'conformance',
    in: 'tier2/transactions/transactGet, returns empty Item for non-existing items',
    words: 'an item that does not exist is an empty answer',
    calls: [
      stored(Key),
      [
        'TransactGetItems',
        transact({ Get: { TableName, Key } }, { Get: { TableName, Key: pk('b') } }),
        { Responses: [{ Item: Key }, {}] },
      ],
    ],
  },
  {
    source: 'conformance',
    in: 'tier2/transactions/transactGet, rejects duplicate keys in same transaction',
    words: 'a transaction reads an item once',
    calls: [
      ['TransactGetItems', transact({ Get: { TableName, Key } }, { Get: { TableName, Key } }), invalid],
    ],
  },
  {
    source: 'conformance',
    in: 'tier3/error-messages/transactGetItems, missing key attribute',
    words: 'a read without the attributes of the key cancels a transaction',
    calls: [
      [
        'TransactGetItems',
        transact({ Get: { TableName, Key: {} } }),
        cancelled('ValidationError'),
        { 'dynamodb-local': { error: 'TransactionCanceledException' } },
      ],
    ],
  },
  // Names of tables.
  {
    source: 'conformance',
    in: 'tier3/error-messages/putItem, missing, empty, too long and invalid table name',
    words: 'the name of a table has 1 to 255 letters, digits, dots, hyphens and underscores',
    calls: [undefined, '', 'a'.repeat(256), 'bad table!@#'].map((name) => [
      'PutItem',
      { TableName: name, Item: Key },
      invalid,
    ]),
  },
  {
    source: 'conformance',
    in: 'tier3/error-messages, malformed table name, 2026-10-09',
    words: 'in transactions and batches, too, where the name comes before a table that does not exist',
    calls: [
      [
        ...write(noTable, { Delete: { TableName: 'bad!name', Key } }),
        invalid,
        { dynoxide: notFound, 'dynamodb-local': notFound },
      ],
      [
        'TransactGetItems',
        transact({ Get: { TableName: 'bad!name', Key } }),
        invalid,
        { dynoxide: cancelled('ValidationError'), 'dynamodb-local': notFound },
      ],
      ['BatchGetItem', { RequestItems: { 'bad!name': { Keys: [Key] } } }, invalid],
      ['BatchWriteItem', { RequestItems: { 'bad!name': [{ PutRequest: { Item: Key } }] } }, invalid],
    ],
  },
  {
    source: 'moto',
    in: 'test_dynamodb_batch_write.py, test_batch_write_using_arn',
    words: 'a scan takes an ARN, and a batch answers with the ARN that it was given',
    calls: [
      stored(Key),
      ['Scan', { TableName: arn }, found(Key), { dynoxide: invalid }],
      [
        'BatchGetItem',
        { RequestItems: { [arn]: { Keys: [Key] } } },
        { Responses: { [arn]: [JSON.stringify(Key)] } },
        { dynoxide: invalid, 'dynamodb-local': { Responses: { PLAIN: [JSON.stringify(Key)] } } },
      ],
    ],
  },
  // Writes of one item.
  {
    source: 'localstack',
    in: 'test_return_values_in_put_item, 2025-10-08',
    words: 'ALL_OLD has the item from before, or nothing',
    calls: [
      ['PutItem', put({ ...Key, b: s('x') }, { ReturnValues: 'ALL_OLD' }), {}],
      [
        'PutItem',
        put({ ...Key, b: s('y') }, { ReturnValues: 'ALL_OLD' }),
        { Attributes: { b: s('x'), ...Key } },
      ],
      ['PutItem', put(Key), {}],
    ],
  },
  {
    source: 'localstack',
    in: 'test_return_values_on_conditions_check_failure, 2025-10-08',
    words: 'a condition that fails tells the item if it is asked for it',
    calls: [
      stored({ ...Key, price: n(650) }),
      [
        'DeleteItem',
        {
          TableName,
          Key,
          ConditionExpression: 'price between :lo and :hi',
          ExpressionAttributeValues: { ':lo': n(500), ':hi': n(600) },
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        },
        { ...failed, Item: { ...Key, price: n(650) } },
      ],
    ],
  },
  {
    source: 'ministack',
    in: 'test_dynamodb_transact_condition_checked_before_update_expression, first calls',
    words: 'a condition is looked at before an update that does not fit the item',
    calls: [
      ['UpdateItem', { ...increment, ...isOld }, failed],
      [...write({ Update: { ...increment, ...isOld } }), cancelled('ConditionalCheckFailed')],
      item(),
    ],
  },
  {
    source: 'conformance',
    in: 'tier1/updateItem/conditions, comparison condition rejects update on non-existent key',
    words: 'a comparison with what does not exist fails, and no item is made',
    calls: [
      ['UpdateItem', update('SET b = :v', { ConditionExpression: 'c < :v', ...v(n(5)) }), failed],
      item(),
    ],
  },
  {
    source: 'localstack',
    in: 'test_empty_and_binary_values, 2025-10-08',
    words: 'what is no key can be empty or binary',
    calls: [
      ['PutItem', put({ ...Key, b: s('') }), {}],
      ['PutItem', put({ ...Key, b: { B: 'kA==' } }), {}],
      item({ b: { B: 'kA==' }, ...Key }),
    ],
  },
  {
    source: 'conformance',
    in: 'tier3/limits, nesting depth: stored attribute nested 31 and 32 levels, 2026-10-08',
    words: 'an attribute has 31 levels of lists and maps at most',
    calls: [
      ['PutItem', put({ ...Key, b: nested(31) }), {}],
      ['PutItem', put({ ...Key, b: nested(32) }), invalid],
      [
        'BatchWriteItem',
        { RequestItems: { PLAIN: [{ PutRequest: { Item: { ...Key, b: nested(32) } } }] } },
        invalid,
      ],
      [
        ...write({ Put: put({ ...Key, b: nested(32) }) }),
        invalid,
        { dynoxide: cancelled('ValidationError') },
      ],
    ],
  },
  {
    source: 'conformance',
    in: 'tier3/limits, nesting depth: 31-level ExpressionAttributeValue, 2026-10-08',
    words: 'so has a value in a condition',
    calls: [
      ['UpdateItem', update('SET c = :v', { ConditionExpression: 'b = :v', ...v(nested(31)) }), failed],
      [
        'UpdateItem',
        update('SET c = :v', { ConditionExpression: 'b = :v', ...v(nested(63)) }),
        invalid,
        { dynoxide: { error: 'SerializationException' } },
      ],
    ],
  },
  {
    source: 'conformance',
    in: 'tier3/limits/numberPrecision',
    words: 'a number is stored in one form',
    calls: [
      ['00042', '42'],
      ['3.1400', '3.14'],
      ['1.5E2', '150'],
      ['-0', '0'],
      ['12345678901234567890123456789012345678', '12345678901234567890123456789012345678'],
    ].flatMap(([given, kept]) => [stored({ ...Key, b: n(given!) }), item({ b: n(kept!), ...Key })]),
  },
  {
    source: 'conformance',
    in: 'tier3/limits/numberPrecision, rejects',
    words: 'a number has 38 digits and a range',
    calls: ['123456789012345678901234567890123456789', '1E+126', '-1E+126', '1E-131'].map((each) => [
      'PutItem',
      put({ ...Key, b: n(each) }),
      invalid,
    ]),
  },
  {
    source: 'conformance',
    in: 'tier3/error-messages/putItem, empty sets and duplicate values in SS',
    words: 'a set is neither empty nor has a member twice',
    calls: [{ SS: [] }, { NS: [] }, { BS: [] }, { SS: ['a', 'a'] }].map((b) => [
      'PutItem',
      put({ ...Key, b }),
      invalid,
    ]),
  },
  {
    source: 'moto',
    in: 'test_dynamodb_update_expressions.py, test_delete_last_item_from_map',
    words: 'a set of which the last member is deleted is gone, and the map around it stays',
    calls: [
      stored({ ...Key, map: { M: { tags: { SS: ['x'] } } } }),
      [
        'UpdateItem',
        update('DELETE #map.tags :v', {
          ExpressionAttributeNames: { '#map': 'map' },
          ...v({ SS: ['x'] }),
          ReturnValues: 'ALL_NEW',
        }),
        { Attributes: { map: { M: {} }, ...Key } },
      ],
    ],
  },
  {
    source: 'moto',
    in: 'test_dynamodb_update_expressions.py, test_update_expression_remove_list_and_attribute',
    words: 'REMOVE takes elements and attributes',
    calls: [
      stored({ ...Key, b: { L: [s('x'), s('y')] }, c: { NULL: true } }),
      ['UpdateItem', update('REMOVE b[0], c')],
      item({ b: { L: [s('y')] }, ...Key }),
    ],
  },
  {
    source: 'moto',
    in: 'test_dynamodb_update_expressions.py, test_update_different_map_elements_in_single_request',
    words: 'SET takes two members of a map',
    calls: [
      stored({ ...Key, d: { M: { x: s('1'), y: s('2') } } }),
      ['UpdateItem', update('set d.x = :v, d.y = :v', v(s('3')))],
      item({ d: { M: { x: s('3'), y: s('3') } }, ...Key }),
    ],
  },
  {
    source: 'moto',
    in: 'test_dynamodb_update_expressions.py, test_update_item_add_float',
    words: 'ADD is exact',
    calls: [
      stored({ ...Key, amount: n(100) }),
      ['UpdateItem', update('ADD amount :v', v(n('-88.3')))],
      ['UpdateItem', update('ADD amount :v', v(n('25.41')))],
      item({ amount: n('37.11'), ...Key }),
    ],
  },
  {
    source: 'moto',
    in: 'test_dynamodb_update_expressions.py, test_delete_non_existing_item',
    words: 'DELETE of what is not in the set changes nothing',
    calls: [
      stored(Key),
      ['UpdateItem', update('DELETE tags :v', v({ SS: ['x'] }))],
      item(Key),
      ['UpdateItem', update('ADD tags :v', v({ SS: ['x'] }))],
      ['UpdateItem', update('DELETE tags :v', v({ SS: ['y'] }))],
      item({ ...Key, tags: { SS: ['x'] } }),
    ],
  },
  {
    source: 'conformance',
    in: 'tier1/updateItem/paths, SET on list index beyond bounds extends the list',
    words: 'SET beyond the end of a list appends',
    calls: [
      stored({ ...Key, b: { L: [s('x')] } }),
      ['UpdateItem', update('SET b[5] = :v', v(s('y')))],
      [
        ...item({ b: { L: [s('x'), s('y')] }, ...Key }),
        {
          dynoxide: {
            Item: {
              b: { L: [s('x'), ...Array.from({ length: 4 }, () => ({ NULL: true })), s('y')] },
              ...Key,
            },
          },
        },
      ],
    ],
  },
  {
    source: 'conformance',
    in: 'tier1/updateItem/paths, SET fails when intermediate map path does not exist',
    words: 'SET needs the map that it sets a member of',
    calls: [stored(Key), ['UpdateItem', update('SET b.x.y = :v', v(s('x'))), invalid]],
  },
  {
    source: 'conformance',
    in: 'tier1/updateItem/paths, multiple SET on same attribute; error-messages, hash and range key attribute',
    words: 'an update sets an attribute once, and no key',
    calls: [
      ['UpdateItem', update('SET b = :v, b = :v', v(s('x'))), invalid],
      ['UpdateItem', update('SET pk = :v', v(s('x'))), invalid],
    ],
  },
  {
    source: 'conformance',
    in: 'tier1/updateItem/expressionHygiene',
    words: 'substitutes begin with # or :, and are used',
    calls: [
      ['UpdateItem', update('SET #s = :v', { ...v(s('x')), ExpressionAttributeNames: { s: 'b' } }), invalid],
      ['UpdateItem', update('SET b = :v', { ExpressionAttributeValues: { v: s('x') } }), invalid],
      ['UpdateItem', { TableName, Key, ExpressionAttributeNames: { '#s': 'b' } }, invalid],
      [
        'UpdateItem',
        update('SET b = :v', { ...v(s('x')), ExpressionAttributeNames: { '#s': 'b' } }),
        invalid,
      ],
      ['PutItem', put(Key, v(s('x'))), invalid],
    ],
  },
  {
    source: 'conformance',
    in: 'tier3/error-messages/putItem, redundant parentheses; contains() with duplicate path and operand',
    words: 'parentheses in parentheses and one operand twice are refused',
    calls: [
      ['PutItem', put(Key, { ConditionExpression: '((attribute_not_exists(pk)))' }), invalid],
      ['PutItem', put(Key, { ConditionExpression: 'contains(b, b)' }), invalid],
      [
        'PutItem',
        put(Key, { ConditionExpression: '(attribute_not_exists(pk) AND (attribute_not_exists(b)))' }),
        {},
      ],
    ],
  },
  // Queries and scans.
  {
    source: 'moto',
    in: 'test_dynamodb_select.py, test_select_values_are_case_sensitive',
    words: 'Select has capital letters',
    calls: [
      ['Scan', { TableName, Select: 'COUNT' }, { Count: 0, ScannedCount: 0 }],
      ['Scan', { TableName, Select: 'count' }, invalid],
      ['Query', { TableName, Select: 'count', KeyConditionExpression: 'pk = :v', ...v(s('a')) }, invalid],
    ],
  },
  {
    source: 'moto',
    in: 'test_dynamodb_select.py, test_scan_count_omits_items_and_preserves_pagination',
    words: 'a count has a limit, and no items',
    calls: [
      ...storedIn(sorted, { ...Key, sk: s('1') }, { ...Key, sk: s('2') }),
      [
        'Scan',
        { TableName: sorted, Select: 'COUNT', Limit: 1, ConsistentRead: true },
        { Count: 1, ScannedCount: 1, LastEvaluatedKey: { ...Key, sk: s('1') } },
      ],
    ],
  },
  {
    source: 'moto',
    in: 'test_dynamodb_select.py, test_all_attributes_rejected_for_keys_only_gsi',
    words: 'an index does not have all attributes',
    calls: [['Scan', { TableName, IndexName: 'gsi', Select: 'ALL_ATTRIBUTES' }, invalid]],
  },
  {
    source: 'moto',
    in: 'test_dynamodb_select.py, all_projected_attributes_rejected_for_table, specific_attributes_requires, projection_expression_rejected',
    words: 'Select has to fit the index and the projection',
    calls: [
      ['Scan', { TableName, IndexName: 'gsi', Select: 'ALL_PROJECTED_ATTRIBUTES' }, found()],
      ['Scan', { TableName, Select: 'ALL_PROJECTED_ATTRIBUTES' }, invalid],
      ['Scan', { TableName, Select: 'SPECIFIC_ATTRIBUTES' }, invalid],
      ...['ALL_ATTRIBUTES', 'ALL_PROJECTED_ATTRIBUTES', 'COUNT'].map((Select): Call => [
        'Scan',
        { TableName: numbers, IndexName: 'gsi', Select, ProjectionExpression: 'gsi_pk' },
        invalid,
      ]),
    ],
  },
  {
    source: 'moto',
    in: 'test_dynamodb_scan.py, test_scan_with_numeric_range_key',
    words: 'a scan has the items of a partition in the order of their sort key',
    calls: [
      ...storedIn(numbers, ...[20, 7, 1, 16].map((sk) => ({ ...Key, sk: n(sk) }))),
      ['Scan', { TableName: numbers }, found(...[1, 7, 16, 20].map((sk) => ({ ...Key, sk: n(sk) })))],
    ],
  },
  {
    source: 'moto',
    in: 'test_dynamodb_scan.py, test_scan_gsi_order_range_key',
    words: 'so has the scan of an index',
    calls: [
      ...[4, 1, 3, 2].map((each, index) =>
        stored({ ...pk(`${index}`), gsi_pk: s('john'), gsi_sk: s(`${each}`) }),
      ),
      [
        'Scan',
        { TableName, IndexName: 'gsi' },
        found(
          ...[1, 3, 2, 0].map((index, at) => ({
            gsi_pk: s('john'),
            gsi_sk: s(`${at + 1}`),
            ...pk(`${index}`),
          })),
        ),
      ],
    ],
  },
  {
    source: 'moto',
    in: 'test_dynamodb_query.py, test_gsi_verify_negative_number_order',
    words: 'numbers are ordered as numbers',
    calls: [
      ...storedIn(
        numbers,
        ...['0.7', '-0.6', '-0.7'].map((each, index) => ({
          ...Key,
          sk: n(index),
          gsi_pk: s('g'),
          gsi_sk: n(each),
        })),
      ),
      [
        'Query',
        {
          TableName: numbers,
          IndexName: 'gsi',
          KeyConditionExpression: 'gsi_pk = :v',
          ProjectionExpression: 'gsi_sk',
          ...v(s('g')),
        },
        found(...['-0.7', '-0.6', '0.7'].map((each) => ({ gsi_sk: n(each) }))),
      ],
    ],
  },
  {
    source: 'moto',
    in: 'test_dynamodb_query.py, test_query_pagination_with_float_numeric_key_in_exclusive_start_key',
    words: 'a page begins after 100.0 as after 100',
    calls: [
      ...storedIn(numbers, ...[0, 100, 200].map((sk) => ({ ...Key, sk: n(sk) }))),
      [
        'Query',
        {
          TableName: numbers,
          KeyConditionExpression: 'pk = :v',
          ...v(s('a')),
          ExclusiveStartKey: { ...Key, sk: n('100.0') },
        },
        found({ ...Key, sk: n(200) }),
      ],
    ],
  },
  {
    source: 'moto',
    in: 'test_dynamodb_query.py, test_query_lsi_pagination',
    words: 'LastEvaluatedKey has the keys of the table and of the index',
    calls: [
      ...storedIn(
        sorted,
        { ...Key, sk: s('1'), lsi_sk: s('2') },
        { ...Key, sk: s('2'), lsi_sk: s('1') },
        { ...Key, sk: s('3') },
      ),
      [
        'Query',
        { TableName: sorted, IndexName: 'lsi', KeyConditionExpression: 'pk = :v', ...v(s('a')), Limit: 1 },
        {
          ...found({ lsi_sk: s('1'), ...Key, sk: s('2') }),
          LastEvaluatedKey: { lsi_sk: s('1'), ...Key, sk: s('2') },
        },
      ],
    ],
  },
  {
    source: 'conformance',
    in: 'tier1/query/keyConditionSemantics',
    words: 'the condition on a sort key can have its value first, and no path into it',
    calls: [
      ...storedIn(sorted, { ...Key, sk: s('m') }),
      [
        'Query',
        {
          TableName: sorted,
          KeyConditionExpression: 'pk = :p AND :lo <= sk',
          ExpressionAttributeValues: { ':p': s('a'), ':lo': s('a') },
        },
        found({ ...Key, sk: s('m') }),
      ],
      [
        'Query',
        {
          TableName: sorted,
          KeyConditionExpression: 'pk = :p AND sk.foo = :v',
          ExpressionAttributeValues: { ':p': s('a'), ':v': s('x') },
        },
        invalid,
      ],
    ],
  },
  {
    source: 'moto',
    in: 'issue 7062, seen on AWS, 2023-11-24; of an index: praetorian-inc/chariot-ui issue 353, 2024-07-23',
    words: 'a query does not look for an empty key',
    calls: [
      [
        'Query',
        { TableName: sorted, KeyConditionExpression: 'pk = :v', ...v(s('')) },
        invalid,
        { dynoxide: found() },
      ],
      [
        'Query',
        { TableName: numbers, IndexName: 'gsi', KeyConditionExpression: 'gsi_pk = :v', ...v(s('')) },
        invalid,
        { dynoxide: found() },
      ],
    ],
  },
  {
    source: 'conformance',
    in: 'tier3/error-messages/query, missing hash key, non-key attribute, ConsistentRead on GSI, Limit of 0',
    words:
      'a query has a partition key, no other attribute and a limit above 0, and an index is not consistent',
    calls: [
      ['sk = :v', {}],
      ['pk = :v AND b = :v', {}],
      ['gsi_pk = :v', { IndexName: 'gsi', ConsistentRead: true }],
      ['pk = :v', { Limit: 0 }],
    ].map(([KeyConditionExpression, more]) => [
      'Query',
      { TableName: numbers, KeyConditionExpression, ...v(s('a')), ...(more as object) },
      invalid,
    ]),
  },
  {
    source: 'conformance',
    in: 'tier1/scan/filterOperandOrder; tier1/getItem/projectionValidation, undefined projection name',
    words: 'what is wrong whatever the items are is refused, even if there are none',
    calls: [
      ['Scan', { TableName, FilterExpression: 'begins_with(b, :v)', ...v(n(5)) }, invalid],
      ['Scan', { TableName, ProjectionExpression: '#undefined' }, invalid],
    ],
  },
  {
    source: 'conformance',
    in: 'tier1/getItem/projectionValidation',
    words: 'a projection has elements in the order of the list, and no path in another one',
    calls: [
      stored({ ...Key, l: { L: [s('0'), s('1'), s('2')] } }),
      [
        'GetItem',
        { TableName, Key, ProjectionExpression: 'l[2], l[0]' },
        { Item: { l: { L: [s('0'), s('2')] } } },
      ],
      ['GetItem', { TableName, Key, ProjectionExpression: 'b, b.c' }, invalid],
      ['GetItem', { TableName, Key, ProjectionExpression: 'b, b' }, invalid],
    ],
  },
  {
    source: 'conformance',
    in: 'tier3/legacy-api/attributesToGet',
    words: 'AttributesToGet does not add the key, and goes with no ProjectionExpression',
    calls: [
      stored({ ...Key, b: s('x') }),
      ['GetItem', { TableName, Key, AttributesToGet: ['b'] }, { Item: { b: s('x') } }],
      ['GetItem', { TableName, Key, AttributesToGet: ['b'], ProjectionExpression: 'b' }, invalid],
    ],
  },
  // Batches.
  {
    source: 'conformance',
    in: 'tier3/error-messages/batchGetItem and batchWriteItem, non-existent table',
    words: 'a table that does not exist refuses a batch',
    calls: [
      ['BatchGetItem', { RequestItems: { NoSuchTable: { Keys: [Key] } } }, notFound],
      [
        'BatchWriteItem',
        {
          RequestItems: { PLAIN: [{ PutRequest: { Item: Key } }], NoSuchTable: [{ DeleteRequest: { Key } }] },
        },
        notFound,
      ],
      item(),
    ],
  },
  {
    source: 'conformance',
    in: 'tier3/error-messages, duplicate keys in one Keys array; same key Put and Delete in one batch',
    words: 'a batch has an item once',
    calls: [
      ['BatchGetItem', { RequestItems: { PLAIN: { Keys: [Key, Key] } } }, invalid],
      [
        'BatchWriteItem',
        { RequestItems: { PLAIN: [{ PutRequest: { Item: Key } }, { DeleteRequest: { Key } }] } },
        invalid,
      ],
    ],
  },
  {
    source: 'conformance',
    in: 'tier3/limits/batchLimits; tier3/error-messages, empty RequestItems',
    words: 'a batch has 1 to 100 reads or 1 to 25 writes',
    calls: [
      ['BatchGetItem', { RequestItems: {} }, invalid],
      ['BatchWriteItem', { RequestItems: {} }, invalid],
      [
        'BatchGetItem',
        { RequestItems: { PLAIN: { Keys: Array.from({ length: 101 }, (_, index) => pk(`${index}`)) } } },
        invalid,
      ],
      [
        'BatchWriteItem',
        {
          RequestItems: {
            PLAIN: Array.from({ length: 26 }, (_, index) => ({ PutRequest: { Item: pk(`${index}`) } })),
          },
        },
        invalid,
      ],
    ],
  },
  {
    source: 'moto',
    in: 'exceptions/test_dynamodb_exceptions.py, test_batch_get_item_unused_attribute_name',
    words: 'a name that no expression uses refuses a batch before a table that does not exist',
    calls: [
      [
        'BatchGetItem',
        {
          RequestItems: {
            NoSuchTable: {
              Keys: [Key],
              ProjectionExpression: '#p',
              ExpressionAttributeNames: { '#p': 'pk', '#q': 'b' },
            },
          },
        },
        invalid,
        { dynoxide: notFound, 'dynamodb-local': notFound },
      ],
    ],
  },
  {
    source: 'conformance',
    in: 'tier3/error-messages/batchGetItem, ProjectionExpression on one table and AttributesToGet on another',
    words: 'a batch has expressions or AttributesToGet, over all tables',
    calls: [
      [
        'BatchGetItem',
        {
          RequestItems: {
            PLAIN: { Keys: [Key], ProjectionExpression: 'pk' },
            SORTED: { Keys: [{ ...Key, sk: s('b') }], AttributesToGet: ['pk'] },
          },
        },
        invalid,
      ],
    ],
  },
];

const engine = new Engine(inject('dynamodbEndpoint'));

test.each(facts)('$source, $in: $words', async ({ calls }) => {
  const used = Object.entries(definitions).filter(([name]) => JSON.stringify(calls).includes(name));
  const memory = new Tables(used.map(([name, each]) => ({ ...each, TableName: name })));
  const suffix = randomUUID();
  for (const [name, each] of used)
    await engine.call('CreateTable', {
      ...each,
      TableName: `${name}${suffix}`,
      BillingMode: 'PAY_PER_REQUEST',
    });
  for (const [index, [operation, input, recorded, others]] of calls.entries()) {
    const call = `${operation}, call ${index + 1}`;
    const answer = callTables(memory, operation, input);
    const done: unknown = expect.not.objectContaining({ error: expect.anything() });
    expect({ call, answer }).toEqual({ call, answer: recorded ?? done });
    const renamed = JSON.stringify(input)
      .replaceAll(/PLAIN|SORTED|NUMBERS/g, `$&${suffix}`)
      .replaceAll('TOKEN', suffix);
    const text = JSON.stringify(await engine.call(operation, JSON.parse(renamed) as object));
    expect({ call, [database]: JSON.parse(text.replaceAll(suffix, '')) as unknown }).toEqual({
      call,
      [database]: others?.[database] ?? answer,
    });
  }
});
