import {
  type Fact,
  TableName,
  s,
  n,
  Key,
  v,
  put,
  stored,
  item,
  update,
  write,
  invalid,
  cancelled,
  isOld,
  increment,
} from './fact.ts';

const nested = (depth: number, within: object = s('leaf')): object =>
  depth === 0 ? within : nested(depth - 1, { M: { n: within } });
const failed = { error: 'ConditionalCheckFailedException' };

export const factsOfItems: readonly Fact[] = [
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
];
