import {
  type Fact,
  type Call,
  TableName,
  sorted,
  numbers,
  s,
  n,
  pk,
  Key,
  v,
  stored,
  item,
  invalid,
  notFound,
  found,
} from './fact.ts';

const storedIn = (table: string, ...items: readonly object[]): Call[] =>
  items.map((Item) => ['PutItem', { TableName: table, Item }]);

export const factsOfReads: readonly Fact[] = [
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
