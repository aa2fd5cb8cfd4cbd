import {
  type Fact,
  type Engines,
  TableName,
  sorted,
  s,
  n,
  pk,
  Key,
  v,
  put,
  stored,
  item,
  update,
  transact,
  write,
  invalid,
  notFound,
  cancelled,
  found,
  isOld,
  increment,
} from './fact.ts';

const arn = 'arn:aws:dynamodb:us-east-1:123456789012:table/PLAIN';
/** By the ARN of a table, Dynoxide knows none, and DynamoDB Local none in a transaction. */
const noArn: Engines = { dynoxide: invalid, 'dynamodb-local': notFound };
const isNew = { ConditionExpression: 'attribute_not_exists(pk)' };
const noTable = { Put: { ...put(Key), TableName: 'NoSuchTable' } };
const unparsed = { ConditionCheck: { TableName, Key: pk('b'), ConditionExpression: 'attribute_exists(' } };
const unused = { ConditionCheck: { TableName, Key: pk('b'), ...isNew, ...v(s('x')) } };

export const factsOfTransactions: readonly Fact[] = [
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
];
