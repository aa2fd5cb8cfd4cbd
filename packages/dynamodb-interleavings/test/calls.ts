import * as fc from 'fast-check';
import type { TableDefinition } from '../src/tables/schema.ts';
import type { Item, Value } from '../src/tables/values.ts';

/*
 * Random calls of few items, so that they meet each other, with expressions of the whole grammar. Most of them fit the items; some
 * are what DynamoDB refuses.
 */

/** A call as in the JSON of DynamoDB's protocol. */
export interface RandomCall {
  readonly operation: string;
  readonly input: object;
}

export const definitions = {
  simple: {
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
  },
  sorted: {
    KeySchema: [
      { AttributeName: 'id', KeyType: 'HASH' },
      { AttributeName: 'sk', KeyType: 'RANGE' },
    ],
    AttributeDefinitions: [
      { AttributeName: 'id', AttributeType: 'S' },
      { AttributeName: 'sk', AttributeType: 'N' },
      { AttributeName: 'a', AttributeType: 'S' },
      { AttributeName: 'b', AttributeType: 'N' },
    ],
    GlobalSecondaryIndexes: [
      {
        IndexName: 'global',
        KeySchema: [
          { AttributeName: 'a', KeyType: 'HASH' },
          { AttributeName: 'b', KeyType: 'RANGE' },
        ],
        Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['c'] },
      },
    ],
    LocalSecondaryIndexes: [
      {
        IndexName: 'local',
        KeySchema: [
          { AttributeName: 'id', KeyType: 'HASH' },
          { AttributeName: 'a', KeyType: 'RANGE' },
        ],
        Projection: { ProjectionType: 'KEYS_ONLY' },
      },
    ],
  },
} as const satisfies Record<string, Omit<TableDefinition, 'TableName'>>;

/** Instead of what begins the partition keys of a run. */
export const runMark = 'RUN';

const text = fc.constantFrom('x', 'xy', 'y', 'z', 'ü', '😀');
const number = fc.oneof(
  fc.integer({ min: -3, max: 12 }).map(String),
  fc.constantFrom(
    '0',
    '1.5',
    '-0.25',
    '1e2',
    '007',
    '1.10',
    '9007199254740993',
    '12345678901234567890.5',
    '-1E-3',
    '+4',
  ),
);
const binary = fc.constantFrom('AA==', 'AAE=', 'AAEC', '/w==');
const setOf = (each: fc.Arbitrary<string>) => fc.uniqueArray(each, { minLength: 1, maxLength: 3 });
const wholeNumber = fc.integer({ min: 0, max: 4 }).map(String);

const scalarWith = (each: fc.Arbitrary<string>): fc.Arbitrary<Value> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ S: text }) },
    { weight: 5, arbitrary: fc.record({ N: each }) },
    { weight: 1, arbitrary: fc.record({ B: binary }) },
    { weight: 1, arbitrary: fc.record({ BOOL: fc.boolean() }) },
    { weight: 1, arbitrary: fc.constant({ NULL: true }) },
  );
const set: fc.Arbitrary<Value> = fc.oneof(
  fc.record({ SS: setOf(text) }),
  fc.record({ NS: setOf(wholeNumber) }),
  fc.record({ BS: setOf(binary) }),
);
const scalar = scalarWith(number);
// DynamoDB Local returns numbers in lists and maps as they were written.
const plainScalar = scalarWith(wholeNumber);
const list = fc.record({ L: fc.array(plainScalar, { maxLength: 3 }) });
const map = fc.record({
  M: fc.dictionary(fc.constantFrom('x', 'y'), fc.oneof(plainScalar, list), { maxKeys: 2 }),
});
const value: fc.Arbitrary<Value> = fc.oneof(
  { weight: 8, arbitrary: scalar },
  { weight: 3, arbitrary: set },
  { weight: 2, arbitrary: list },
  { weight: 2, arbitrary: map },
);

/** Attributes have the types that expressions expect of them, mostly. */
const attributes: fc.Arbitrary<Item> = fc.record(
  {
    a: fc.oneof(
      { weight: 6, arbitrary: fc.record({ S: text }) },
      { weight: 4, arbitrary: fc.constant({ S: runMark }) },
      { weight: 1, arbitrary: value },
    ),
    b: fc.oneof({ weight: 9, arbitrary: fc.record({ N: number }) }, { weight: 1, arbitrary: value }),
    c: value,
    s: set,
    l: fc.record({ L: fc.array(fc.oneof(plainScalar, map), { maxLength: 4 }) }),
    m: map,
    status: scalar,
  },
  { requiredKeys: [] },
);

/** Parts of an expression: its text, and what it has in the place of a value. */
type Part = string | { readonly value: Value };
type Parts = readonly Part[];

const path = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('a', 'b', 'c', 's', 'l', 'm', '#status') },
  {
    weight: 5,
    arbitrary: fc.constantFrom('m.x', 'm.y', 'l[0]', 'l[1]', 'l[7]', 'm.#x', 'm.x[0]', 'l[0].x', 'c[1]'),
  },
  { weight: 1, arbitrary: fc.constantFrom('status', 'id', 'sk', '#missing', 'c.x.y', 'm[0]') },
);
const literal = (each: fc.Arbitrary<Value>): fc.Arbitrary<Parts> => each.map((inner) => [{ value: inner }]);
const pathPart: fc.Arbitrary<Parts> = path.map((each) => [each]);
const size: fc.Arbitrary<Parts> = pathPart.map((inner) => ['size(', ...inner, ')']);
const operand: fc.Arbitrary<Parts> = fc.oneof(
  { weight: 5, arbitrary: pathPart },
  { weight: 5, arbitrary: literal(value) },
  { weight: 1, arbitrary: size },
);
const comparator = fc.constantFrom('=', '<>', '<', '<=', '>', '>=');
const join = (...parts: (fc.Arbitrary<Parts> | string)[]): fc.Arbitrary<Parts> =>
  fc
    .tuple(...parts.map((each) => (typeof each === 'string' ? fc.constant([each]) : each)))
    .map((all) => all.flat());
const either = fc.oneof({ weight: 8, arbitrary: literal(scalar) }, { weight: 2, arbitrary: operand });

const simpleCondition: fc.Arbitrary<Parts> = fc.oneof(
  {
    weight: 5,
    arbitrary: join(
      pathPart,
      comparator.map((each) => [` ${each} `]),
      either,
    ),
  },
  {
    weight: 1,
    arbitrary: join(
      operand,
      comparator.map((each) => [each]),
      operand,
    ),
  },
  {
    weight: 1,
    arbitrary: join(
      size,
      comparator.map((each) => [each]),
      literal(fc.record({ N: wholeNumber })),
    ),
  },
  { weight: 3, arbitrary: join('attribute_exists(', pathPart, ')') },
  { weight: 3, arbitrary: join('attribute_not_exists (', pathPart, ')') },
  {
    weight: 2,
    arbitrary: join(
      'attribute_type(',
      pathPart,
      ', ',
      literal(fc.record({ S: fc.constantFrom('S', 'N', 'SS', 'L', 'M', 'NULL', 'Q') })),
      ')',
    ),
  },
  { weight: 2, arbitrary: join('begins_with(', pathPart, ',', either, ')') },
  { weight: 2, arbitrary: join('contains(', pathPart, ',', either, ')') },
  { weight: 2, arbitrary: join(operand, ' BETWEEN ', either, ' AND ', either) },
  { weight: 2, arbitrary: join(operand, ' in (', operand, ', ', either, ')') },
);

const { condition } = fc.letrec<{ condition: Parts }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    { weight: 5, arbitrary: simpleCondition },
    { weight: 2, arbitrary: join(tie('condition'), ' AND ', tie('condition')) },
    { weight: 2, arbitrary: join(tie('condition'), ' or ', tie('condition')) },
    { weight: 2, arbitrary: join('NOT ', tie('condition')) },
    { weight: 2, arbitrary: join('(', tie('condition'), ')') },
  ),
}));

const { assigned } = fc.letrec<{ assigned: Parts }>((tie) => ({
  assigned: fc.oneof(
    { maxDepth: 2 },
    { weight: 6, arbitrary: operand },
    { weight: 2, arbitrary: join('if_not_exists(', pathPart, ', ', tie('assigned'), ')') },
    { weight: 2, arbitrary: join('list_append(', tie('assigned'), ', ', literal(list), ')') },
    { weight: 1, arbitrary: join('list_append(if_not_exists(l, ', literal(list), '), ', literal(list), ')') },
  ),
}));
const addend = fc.oneof(
  { weight: 3, arbitrary: literal(fc.record({ N: number })) },
  { weight: 2, arbitrary: fc.constant<Parts>(['b']) },
  { weight: 1, arbitrary: operand },
);
const assignment = fc.oneof(
  { weight: 4, arbitrary: join(pathPart, ' = ', assigned) },
  { weight: 3, arbitrary: join(pathPart, ' = ', addend, ' + ', addend) },
  {
    weight: 1,
    arbitrary: join(pathPart, ' = if_not_exists(b, ', literal(fc.record({ N: number })), ') - ', addend),
  },
);
const clause = (name: string, each: fc.Arbitrary<Parts>): fc.Arbitrary<Parts> =>
  fc
    .array(each, { minLength: 1, maxLength: 2 })
    .map((all) => [`${name} `, ...all.flatMap((one, index) => (index > 0 ? [', ', ...one] : one)), ' ']);
const addedTo = fc.oneof(
  {
    weight: 4,
    arbitrary: join(
      fc.constantFrom<Parts>(['b'], ['m.x'], ['c']),
      ' ',
      literal(fc.record({ N: wholeNumber })),
    ),
  },
  { weight: 3, arbitrary: join(fc.constantFrom<Parts>(['s'], ['c']), ' ', literal(set)) },
  { weight: 1, arbitrary: join(pathPart, ' ', literal(value)) },
);
const update: fc.Arbitrary<Parts> = fc
  .shuffledSubarray(['SET', 'REMOVE', 'ADD', 'DELETE'], { minLength: 1, maxLength: 2 })
  .chain((names) =>
    join(
      ...names.map((name) => {
        if (name === 'SET') return clause('SET', assignment);
        if (name === 'REMOVE') return clause('remove', pathPart);
        return clause(
          name,
          name === 'ADD' ? addedTo : join(fc.constantFrom<Parts>(['s'], ['c'], ['m.x']), ' ', literal(set)),
        );
      }),
    ),
  );
const projection = fc.uniqueArray(path, { minLength: 1, maxLength: 3 }).map((all): Parts => [all.join(', ')]);

/** Members of an input, with the expressions among them as parts. */
type Draft = Readonly<Record<string, unknown>>;

function substituted(draft: Draft, expressions: Readonly<Record<string, Parts | undefined>>): object {
  const values: Record<string, Value> = {};
  const texts = Object.entries(expressions).flatMap(([name, parts]) => {
    if (parts === undefined) return [];
    const all = parts.map((each) => {
      if (typeof each === 'string') return each;
      const substitute = `:v${Object.keys(values).length}`;
      values[substitute] = each.value;
      return substitute;
    });
    return [[name, all.join('')] as const];
  });
  const used = new Set(texts.flatMap(([, each]) => each.match(/#\w+/g) ?? []));
  const names = Object.entries({ '#status': 'status', '#x': 'x' }).filter(([name]) => used.has(name));
  return {
    ...draft,
    ...Object.fromEntries(texts),
    ...(names.length > 0 && { ExpressionAttributeNames: Object.fromEntries(names) }),
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  };
}

const maybe = <T>(each: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(each, { nil: undefined, freq: 2 });
const returnOld = fc.constantFrom({}, { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' });

/** Calls of tables with these names. */
export function callsOf(
  tables: Readonly<Record<keyof typeof definitions, string>>,
): fc.Arbitrary<RandomCall> {
  const id = fc.constantFrom('1', '2').map((each) => ({ S: `${runMark} ${each}` }));
  const place = fc.oneof(
    fc.record({ TableName: fc.constant(tables.simple), Key: fc.record({ id }) }),
    fc.record({
      TableName: fc.constant(tables.sorted),
      Key: fc.record({ id, sk: fc.record({ N: wholeNumber }) }),
    }),
  );
  const write = fc.oneof(
    fc.record({ place, attributes, condition: maybe(condition), returnOld }).map((each) => ({
      kind: 'Put',
      input: substituted(
        {
          TableName: each.place.TableName,
          Item: { ...each.attributes, ...each.place.Key },
          ...each.returnOld,
        },
        { ConditionExpression: each.condition },
      ),
    })),
    fc.record({ place, update, condition: maybe(condition), returnOld }).map((each) => ({
      kind: 'Update',
      input: substituted(
        { ...each.place, ...each.returnOld },
        { UpdateExpression: each.update, ConditionExpression: each.condition },
      ),
    })),
    fc.record({ place, condition: maybe(condition), returnOld }).map((each) => ({
      kind: 'Delete',
      input: substituted({ ...each.place, ...each.returnOld }, { ConditionExpression: each.condition }),
    })),
  );
  const returned = (kind: string) =>
    kind === 'Update'
      ? fc.constantFrom('NONE', 'ALL_OLD', 'ALL_NEW', 'UPDATED_OLD', 'UPDATED_NEW')
      : fc.constantFrom('NONE', 'ALL_OLD');
  const get = fc
    .record({ place, consistent: fc.boolean(), projection: maybe(projection) })
    .map((each) =>
      substituted(
        { ...each.place, ConsistentRead: each.consistent },
        { ProjectionExpression: each.projection },
      ),
    );
  const sortKey = (name: string, each: fc.Arbitrary<Value>): fc.Arbitrary<Parts | undefined> =>
    maybe(
      fc.oneof(
        join(
          ` AND ${name} `,
          comparator.map((one) => [one, ' ']),
          literal(each),
        ),
        join(` AND ${name} between `, literal(each), ' and ', literal(each)),
        join(` and begins_with(${name}, `, literal(each), ')'),
      ),
    );
  const options = fc.record(
    {
      Limit: fc.integer({ min: 1, max: 4 }),
      ScanIndexForward: fc.boolean(),
      Select: fc.constantFrom('COUNT', 'ALL_ATTRIBUTES'),
    },
    { requiredKeys: [] },
  );
  const filter = maybe(condition);
  const searches = fc.oneof(
    fc
      .record({
        id,
        sort: sortKey('sk', fc.record({ N: wholeNumber })),
        filter,
        projection: maybe(projection),
        options,
      })
      .map((each) =>
        substituted(
          { TableName: tables.sorted, ...each.options },
          {
            KeyConditionExpression: ['id = ', { value: each.id }, ...(each.sort ?? [])],
            FilterExpression: each.filter,
            ProjectionExpression: each.options.Select ? undefined : each.projection,
          },
        ),
      ),
    fc
      .record({ sort: sortKey('b', fc.record({ N: number })) })
      .map((each) =>
        substituted(
          { TableName: tables.sorted, IndexName: 'global' },
          { KeyConditionExpression: ['a = ', { value: { S: runMark } }, ...(each.sort ?? [])] },
        ),
      ),
    // What has the same sort key in an index is in no order, so there is no limit.
    fc.record({ id, sort: sortKey('a', fc.record({ S: text })), filter, options: fc.boolean() }).map((each) =>
      substituted(
        { TableName: tables.sorted, IndexName: 'local', ...(each.options && { Select: 'ALL_ATTRIBUTES' }) },
        {
          KeyConditionExpression: ['id = ', { value: each.id }, ...(each.sort ?? [])],
          FilterExpression: each.filter,
        },
      ),
    ),
  );
  const ofRun = (each: Parts | undefined): Parts => [
    ...(each ? ['(', ...each, ') AND '] : []),
    'begins_with(id, ',
    { value: { S: runMark } },
    ')',
  ];
  const scans = fc
    .record({ table: fc.constantFrom(tables.simple, tables.sorted), filter })
    .map((each) => substituted({ TableName: each.table }, { FilterExpression: ofRun(each.filter) }));
  return fc.oneof(
    {
      weight: 12,
      arbitrary: write.chain(({ kind, input }) =>
        returned(kind).map((values) => ({
          operation: `${kind}Item`,
          input: { ...input, ReturnValues: values },
        })),
      ),
    },
    { weight: 3, arbitrary: get.map((input) => ({ operation: 'GetItem', input })) },
    { weight: 5, arbitrary: searches.map((input) => ({ operation: 'Query', input })) },
    { weight: 1, arbitrary: scans.map((input) => ({ operation: 'Scan', input })) },
    {
      weight: 2,
      arbitrary: fc.uniqueArray(write, { minLength: 1, maxLength: 3, selector: placeOf }).map((writes) => ({
        operation: 'TransactWriteItems',
        input: {
          TransactItems: writes.map(({ kind, input }) => ({
            [kind === 'Delete' && 'ConditionExpression' in input ? 'ConditionCheck' : kind]: input,
          })),
        },
      })),
    },
    {
      weight: 2,
      arbitrary: fc.array(get, { minLength: 1, maxLength: 3 }).map((gets) => ({
        operation: 'TransactGetItems',
        input: {
          TransactItems: gets.map((input) => ({ Get: { ...input, ConsistentRead: undefined } })),
        },
      })),
    },
    {
      weight: 1,
      arbitrary: fc
        .uniqueArray(fc.record({ id, isDeletion: fc.boolean(), attributes }), {
          maxLength: 3,
          minLength: 1,
          selector: ({ id: { S } }) => S,
        })
        .map((all) => ({
          operation: 'BatchWriteItem',
          input: {
            RequestItems: {
              [tables.simple]: all.map((each) =>
                each.isDeletion
                  ? { DeleteRequest: { Key: { id: each.id } } }
                  : { PutRequest: { Item: { ...each.attributes, id: each.id } } },
              ),
            },
          },
        })),
    },
    {
      weight: 1,
      arbitrary: fc
        .record({ ids: fc.array(id, { minLength: 1, maxLength: 2 }), projection: maybe(projection) })
        .map((each) => ({
          operation: 'BatchGetItem',
          input: {
            RequestItems: {
              [tables.simple]: substituted(
                { Keys: each.ids.map((one) => ({ id: one })) },
                { ProjectionExpression: each.projection },
              ),
            },
          },
        })),
    },
  );
}

/** A transaction writes an item once. DynamoDB Local does not refuse a second time. */
function placeOf({ input }: { readonly input: object }): string {
  const { TableName: table, Key: key, Item: item } = input as { TableName: string; Key?: Item; Item?: Item };
  const { id, sk } = (key ?? item)!;
  return JSON.stringify([table, id, sk]);
}
