import { expect, test } from 'vitest';
import { unexplored } from '../../src/bounds.ts';
import { type Environment, explore, type Fault, type Options, type Service } from '../../src/index.ts';

// What can happen on AWS and is in no schedule is named for whoever can meet it, and for nobody else.

const TableName = 'Items';
const table = {
  TableName,
  KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
  AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
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
  return bounds.split('; ').slice(1);
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
    'no call is throttled by RequestLimitExceeded',
  ],
  [
    'a conflict',
    transaction(['a', 'b']),
    meeting('conflict'),
    'only the fault conflict',
    'a transaction is refused at one item only',
  ],
  ['a conflict at one item', transaction(['a']), meeting('conflict'), 'only the fault conflict'],
  [
    'a failure',
    write,
    meeting('failedAfter'),
    'only the fault failedAfter',
    'what fails in DynamoDB is InternalServerError, and never ServiceUnavailable',
  ],
  [
    'a refusal',
    write,
    meeting('denied'),
    'only the fault denied',
    'what is denied is so by AccessDeniedException, and never by expired credentials',
  ],
  [
    'a stranger',
    write,
    meeting('unreadableAfter'),
    'only the fault unreadableAfter',
    'what answers instead is an HTML page or empty',
  ],
  [
    'a stale read',
    async (environment) => {
      await write(environment);
      await call('GetItem', { TableName, Key: { id: { S: 'a' } } })(environment);
    },
    meeting('stale'),
    'only the fault stale',
    'a stale read misses writes of the last second only',
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
    { ...meeting('paused'), events: { 'nothing happens': () => {} } },
    'only the fault paused',
    'no process stands still for more than 500 steps',
  ],
  ['two requests', write, { afterwards: [write] }, 'all clocks show the same time'],
  [
    'a time to live',
    write,
    { tables: [{ ...table, TimeToLiveSpecification: { AttributeName: 'end', Enabled: true } }] },
    'no item is deleted when its time to live is over',
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

test('the kinds that no call could meet are named, if they are fewer', async () => {
  expect(await boundsOf(write, { faults: 1, delays: 0 })).toContain(
    'never the faults hungBefore, unreadableBefore, unreadableAfter, failed, failedAfter',
  );
});

test('everything that is known is named once above', () => {
  expect(unexplored.map(([text]) => text).filter((text) => !seen.has(text))).toEqual([]);
});
