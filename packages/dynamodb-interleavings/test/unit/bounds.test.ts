import { expect, test } from 'vitest';
import { unexplored } from '../../src/bounds.ts';
import { type Environment, explore, type Fault, type Options, type Service } from '../../src/index.ts';

// What can happen on AWS and is in no schedule is named for whoever can meet it, and for nobody else.

const TableName = 'Items';
const realSetTimeout = setTimeout;
const table = {
  TableName,
  KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
  AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
} as const;
const withTimeToLive = {
  ...table,
  TimeToLiveSpecification: { AttributeName: 'end', Enabled: true },
} as const;
type Program = (environment: Environment) => Promise<unknown>;

const call =
  (operation: string, input: object): Program =>
  ({ client: { requestHandler } }) =>
    requestHandler
      .handle({ headers: { 'x-amz-target': `DynamoDB_20120810.${operation}` }, body: JSON.stringify(input) })
      .catch(() => {});
const put = (id: string) => ({ TableName, Item: { id: { S: id } } });
const write = call('PutItem', put('a'));
const transaction = (ids: readonly string[], more: object = {}) =>
  call('TransactWriteItems', { TransactItems: ids.map((id) => ({ Put: put(id) })), ...more });
const withToken = transaction(['a'], { ClientRequestToken: 'token' });
const twice =
  (program: Program): Program =>
  async (environment) => {
    await program(environment);
    await program(environment);
  };
const scan = twice(call('Scan', { TableName }));
const queue: Service = { answer: () => ({ statusCode: 200 }) };
const send: Program = ({ clientOf }) =>
  clientOf('sqs').requestHandler.handle({ hostname: 'sqs.eu-central-1.amazonaws.com', headers: {} });

const boundsOf = async (request: Program, more: Partial<Options> = {}) => {
  const options = { tables: [table], requests: [request], check: () => undefined, ...more };
  const { bounds, isComplete } = await explore(options);
  expect(isComplete).toBe(true);
  return bounds.split('; ').slice(1, -1);
};
const meeting = (...kinds: Fault[]) => ({ faults: 1, kinds, delays: 0 });

const seen = new Set<string>();
test.each<[name: string, Program, Partial<Options>, ...texts: string[]]>([
  ['a write', write, {}],
  ['a transaction', transaction(['a', 'b']), {}],
  ['a token that is used once', withToken, {}],
  [
    'a scan of two items',
    scan,
    { items: { [TableName]: [{ id: 'a' }, { id: 'b' }] } },
    'a query or scan sees one state of its items',
    'batches and scans answer in the order of the keys',
  ],
  ['a scan of one item', scan, { items: { [TableName]: [{ id: 'a' }] } }],
  [
    'a token that is used twice',
    twice(withToken),
    {},
    'no transaction that is repeated with its token meets TransactionInProgressException',
  ],
  [
    'throttling',
    write,
    meeting('throttled'),
    'only the fault throttled',
    'faults only in the forms of PROOF.md',
  ],
  [
    'a conflict',
    transaction(['a', 'b']),
    meeting('conflict'),
    'only the fault conflict',
    'faults only in the forms of PROOF.md',
  ],
  ['a conflict at one item', transaction(['a']), meeting('conflict'), 'only the fault conflict'],
  [
    'a failure',
    write,
    meeting('failedAfter'),
    'only the fault failedAfter',
    'faults only in the forms of PROOF.md',
  ],
  ['a refusal', write, meeting('denied'), 'only the fault denied', 'faults only in the forms of PROOF.md'],
  [
    'a stranger',
    write,
    meeting('unreadableAfter'),
    'only the fault unreadableAfter',
    'faults only in the forms of PROOF.md',
  ],
  [
    'a stale read',
    async (environment) => {
      await write(environment);
      await call('GetItem', { TableName, Key: { id: { S: 'a' } } })(environment);
    },
    meeting('stale'),
    'only the fault stale',
    'faults only in the forms of PROOF.md',
  ],
  [
    'another service',
    send,
    { services: () => ({ sqs: queue }) },
    'another service handles a call in one step',
  ],
  [
    'a pause',
    write,
    { ...meeting('paused'), requests: [write, async () => void setTimeout(() => {}, 100)] },
    'only the fault paused',
    'no timer goes off after the last request has ended',
    'faults only in the forms of PROOF.md',
  ],
  [
    'a batch of two items',
    call('BatchGetItem', {
      RequestItems: { [TableName]: { Keys: ['a', 'b'].map((id) => ({ id: { S: id } })) } },
    }),
    {},
    'batches do their items in order',
    'batches and scans answer in the order of the keys',
  ],
  ['a time to live', write, { tables: [withTimeToLive] }, 'no item is deleted when its time to live is over'],
  [
    'a time to live beside an event that deletes nothing',
    write,
    { tables: [withTimeToLive], events: { 'the clock strikes': () => {} } },
    'no item is deleted when its time to live is over',
    'no event happens after the last answer',
  ],
  [
    'a time to live with an event that deletes',
    write,
    {
      tables: [withTimeToLive],
      items: { [TableName]: [{ id: 'old', end: 1 }] },
      events: { 'what has expired is deleted': ({ tables }) => tables.expire() },
    },
    'no event happens after the last answer',
  ],
  [
    'a timer of Node.js that was kept before',
    async (environment) => {
      await write(environment);
      await new Promise((resolve) => realSetTimeout(resolve, 30));
      await write(environment);
    },
    {},
    'what is not simulated takes no time',
  ],
  [
    'an event',
    write,
    { events: { 'what has expired is deleted': ({ tables }) => tables.expire() } },
    'no event happens after the last answer',
  ],
  [
    'a local index',
    write,
    {
      tables: [
        {
          ...table,
          KeySchema: [...table.KeySchema, { AttributeName: 'n', KeyType: 'RANGE' }],
          AttributeDefinitions: ['id', 'n'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
          LocalSecondaryIndexes: [
            { IndexName: 'local', KeySchema: table.KeySchema, Projection: { ProjectionType: 'ALL' } },
          ],
        },
      ],
    },
    'no write meets ItemCollectionSizeLimitExceededException',
  ],
])('%s', async (_, request, options, ...texts) => {
  const bounds = await boundsOf(request, options);
  for (const each of bounds) seen.add(each);
  expect(bounds).toEqual(texts);
});

test('a pause without a timer that goes off meanwhile is none', async () => {
  expect(await boundsOf(write, { ...meeting('paused'), requests: [write, write] })).toContain(
    'no call met the fault paused',
  );
});

test('the kinds that no call could meet are named, if they are fewer', async () => {
  expect(await boundsOf(write, { faults: 1, delays: 0 })).toContain(
    'never the faults hungBefore, unreadableBefore, unreadableAfter, failed, failedAfter',
  );
});

test('everything that is known is named once above', () => {
  expect(unexplored.map(([text]) => text).filter((text) => !seen.has(text))).toEqual([]);
});
