import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from 'vitest';
import { type Environment, explore, type History, type Options, verify } from '../../src/index.ts';

const TableName = 'Notes';
const tables = [
  {
    TableName,
    KeySchema: [
      { AttributeName: 'owner', KeyType: 'HASH' },
      { AttributeName: 'id', KeyType: 'RANGE' },
    ],
    AttributeDefinitions: [
      { AttributeName: 'owner', AttributeType: 'S' },
      { AttributeName: 'id', AttributeType: 'S' },
      { AttributeName: 'topic', AttributeType: 'S' },
    ],
    GlobalSecondaryIndexes: [
      {
        IndexName: 'byTopic',
        KeySchema: [{ AttributeName: 'topic', KeyType: 'HASH' }],
        Projection: { ProjectionType: 'ALL' },
      },
    ],
  },
] as const satisfies Options['tables'];
const documents = ({ client }: Environment) => DynamoDBDocument.from(new DynamoDB(client));
const note = (id: string) => ({ owner: 'ann', id, topic: 'x' });
const valueOf = ({ outcomes }: History, index: number) => {
  const outcome = outcomes[index]!;
  return outcome.status === 'fulfilled' ? outcome.value : outcome.status;
};
/** The different values that a function of each history has. */
async function seen(options: Omit<Options, 'tables' | 'check'>, of: (history: History) => unknown) {
  const values = new Set<string>();
  const check = (history: History) => void values.add(JSON.stringify(of(history)));
  const report = await explore({ tables, ...options, check });
  expect(report).toMatchObject({ violations: 0, isComplete: true });
  return [...values].toSorted().map((each) => JSON.parse(each) as unknown);
}
const ids = (stored: History['tables']) => stored.items(TableName).map(({ id }) => id);

const putAll = async (environment: Environment) => {
  const requests = ['1', '2', '3'].map((id) => ({ PutRequest: { Item: note(id) } }));
  const { UnprocessedItems: left } = await documents(environment).batchWrite({
    RequestItems: { [TableName]: requests },
  });
  return left![TableName]?.length ?? 0;
};
const getAll = async (environment: Environment) => {
  const Keys = ['1', '2', '3'].map((id) => ({ owner: 'ann', id }));
  const output = await documents(environment).batchGet({ RequestItems: { [TableName]: { Keys } } });
  const left = output.UnprocessedKeys![TableName]?.Keys?.length ?? 0;
  return [output.Responses![TableName]!.map(({ id }) => id as string), left];
};
const list = (input: object) => async (environment: Environment) => {
  const output = await documents(environment).query({
    TableName,
    KeyConditionExpression: '#owner = :ann',
    ExpressionAttributeNames: { '#owner': 'owner' },
    ExpressionAttributeValues: { ':ann': 'ann' },
    ...input,
  });
  return [output.Items!.map(({ id }) => id as string), output.LastEvaluatedKey?.['id']];
};

describe('a batch', () => {
  test('is written item by item', async () => {
    const values = await seen({ requests: [putAll, list({ ConsistentRead: true })] }, (history) =>
      valueOf(history, 1),
    );
    expect(values).toEqual([['1', '2', '3'], ['1', '2'], ['1'], []].map((all) => [all, null]));
  });

  test('is read item by item', async () => {
    const items = { [TableName]: ['1', '2', '3'].map(note) };
    const remove = async (environment: Environment) => {
      for (const id of ['1', '3'])
        await documents(environment).delete({ TableName, Key: { owner: 'ann', id } });
    };
    const values = await seen({ items, requests: [getAll, remove] }, (history) => valueOf(history, 0));
    expect(values).toContainEqual([['1', '2'], 0]);
    expect(values).toContainEqual([['2', '3'], 0]);
  });

  test('can be done in part', async () => {
    const faults = { faults: 1, kinds: ['unprocessed'] } as const;
    const written = await seen({ requests: [putAll], ...faults }, (history) => [
      ids(history.tables),
      valueOf(history, 0),
    ]);
    const parts = [
      [['1', '2', '3'], 0],
      [['1', '2'], 1],
      [['1', '3'], 1],
      [['1'], 2],
      [['2', '3'], 1],
    ];
    expect(written).toEqual(parts);
    const items = { [TableName]: ['1', '2', '3'].map(note) };
    const read = await seen({ items, requests: [getAll], ...faults }, (history) => valueOf(history, 0));
    expect(read).toEqual(parts);
  });

  test('that DynamoDB refuses is refused as a whole', async () => {
    const twice = (environment: Environment) =>
      documents(environment)
        .batchWrite({
          RequestItems: { [TableName]: ['1', '1'].map((id) => ({ PutRequest: { Item: note(id) } })) },
        })
        .catch(({ name }: Error) => name);
    const all = await seen({ requests: [twice] }, (history) => [ids(history.tables), valueOf(history, 0)]);
    expect(all).toEqual([[[], 'ValidationException']]);
  });
});

describe('a page', () => {
  const items = { [TableName]: ['1', '2'].map(note) };
  const faults = { faults: 1, kinds: ['shortPage'] } as const;

  test('can end early, and be empty if its items are filtered out', async () => {
    const whole = await seen({ items, requests: [list({})], ...faults }, (history) => valueOf(history, 0));
    expect(whole).toEqual([
      [['1', '2'], null],
      [['1'], '1'],
    ]);
    const filter = {
      FilterExpression: 'topic = :y',
      ExpressionAttributeValues: { ':ann': 'ann', ':y': 'y' },
    };
    const filtered = await seen({ items, requests: [list(filter)], ...faults }, (history) =>
      valueOf(history, 0),
    );
    expect(filtered).toEqual([
      [[], '1'],
      [[], null],
    ]);
  });

  test('that has one item is whole', async () => {
    const one = { [TableName]: [note('1')] };
    expect(
      await verify({ tables, items: one, requests: [list({})], check: () => undefined, ...faults }),
    ).toMatchObject({
      schedules: 1,
    });
  });
});

describe('a stale read', () => {
  const faults = { faults: 1, kinds: ['stale'] } as const;
  const byTopic = {
    IndexName: 'byTopic',
    KeyConditionExpression: 'topic = :x',
    ExpressionAttributeNames: undefined,
    ExpressionAttributeValues: { ':x': 'x' },
  };
  const putThen =
    (wait: number, read: (environment: Environment) => Promise<unknown>) =>
    async (environment: Environment) => {
      await documents(environment).put({ TableName, Item: note('2') });
      await environment.world.sleep(wait);
      return read(environment);
    };
  const items = { [TableName]: [note('1')] };
  const found = (wait: number, input: object) =>
    seen({ items, requests: [putThen(wait, list(input))], ...faults }, (history) => valueOf(history, 0));

  test('does not see what was written in the last second', async () => {
    const both = [
      [['1', '2'], null],
      [['1'], null],
    ];
    expect(await found(0, {})).toEqual(both);
    expect(await found(999, byTopic)).toEqual(both);
    expect(await found(1_000, {})).toEqual(both.slice(0, 1));
  });

  test('is not consistent', async () => {
    expect(await found(0, { ConsistentRead: true })).toEqual([[['1', '2'], null]]);
  });

  test('can be a get, but not one of a transaction', async () => {
    const get = async (environment: Environment) => {
      const { Item: item } = await documents(environment).get({ TableName, Key: { owner: 'ann', id: '2' } });
      return item?.['id'] as unknown;
    };
    const transaction = async (environment: Environment) => {
      const { Responses: responses } = await documents(environment).transactGet({
        TransactItems: [{ Get: { TableName, Key: { owner: 'ann', id: '2' } } }],
      });
      return responses![0]!.Item?.['id'] as unknown;
    };
    const of = (read: (environment: Environment) => Promise<unknown>) =>
      seen({ requests: [putThen(0, read)], ...faults }, (history) => valueOf(history, 0) ?? null);
    expect(await of(get)).toEqual(['2', null]);
    expect(await of(transaction)).toEqual(['2']);
  });
});

describe('a crash', () => {
  const write = async (environment: Environment) => {
    const client = documents(environment);
    setInterval(() => void client.put({ TableName, Item: note('heartbeat') }), 1_000);
    for (const id of ['1', '2']) await client.put({ TableName, Item: note(id) });
  };
  const afterwards = [list({ ConsistentRead: true })];

  test('ends the process before or after a write, with its timers', async () => {
    const crashed = (kinds: Options['kinds']) =>
      seen({ requests: [write], afterwards, faults: 1, kinds: kinds! }, (history) => [
        history.outcomes[0]!.status,
        ids(history.tables),
        (valueOf(history, 1) as [string[]])[0],
      ]);
    const same = (status: string, all: string[]) => [status, all, all];
    expect(await crashed(['crashedBefore'])).toEqual([
      same('crashed', ['1']),
      same('crashed', []),
      same('fulfilled', ['1', '2']),
    ]);
    expect(await crashed(['crashedAfter'])).toEqual([
      same('crashed', ['1', '2']),
      same('crashed', ['1']),
      same('fulfilled', ['1', '2']),
    ]);
  });

  test('of a read is one, before or after', async () => {
    const report = await verify({
      tables,
      requests: [list({})],
      check: () => undefined,
      faults: 1,
      kinds: ['crashedBefore', 'crashedAfter'],
    });
    expect(report.schedules).toBe(2);
  });

  test('ends other calls of the process, which do not reach DynamoDB', async () => {
    const both = async (environment: Environment) => {
      const client = documents(environment);
      await Promise.all(['1', '2'].map((id) => client.put({ TableName, Item: note(id) })));
    };
    const values = await seen({ requests: [both], faults: 1, kinds: ['crashedBefore'] }, (history) => [
      history.outcomes[0]!.status,
      ids(history.tables),
    ]);
    expect(values).toEqual([
      ['crashed', ['1']],
      ['crashed', ['2']],
      ['crashed', []],
      ['fulfilled', ['1', '2']],
    ]);
  });
});

describe('a pause', () => {
  const leaseMs = 5_000;
  const place = { owner: 'x', id: 'lease' };

  /** Adds one to a counter while it holds a lease. @param isFenced the counter refuses a holder that another one followed */
  const countWith = (isFenced: boolean) => async (environment: Environment) => {
    const client = documents(environment);
    const acquire = async (): Promise<number> => {
      for (;;) {
        const { Item: lease } = await client.get({ TableName, Key: place, ConsistentRead: true });
        const token = Number(lease?.['token'] ?? 0);
        if (lease === undefined || lease['until'] <= Date.now()) {
          const condition = lease ? '#token = :token' : 'attribute_not_exists(id)';
          try {
            await client.put({
              TableName,
              Item: { ...place, token: token + 1, until: Date.now() + leaseMs },
              ConditionExpression: condition,
              ...(lease && {
                ExpressionAttributeNames: { '#token': 'token' },
                ExpressionAttributeValues: { ':token': token },
              }),
            });
            return token + 1;
          } catch (error) {
            if ((error as Error).name !== 'ConditionalCheckFailedException') throw error;
          }
        }
        await environment.world.sleep(2_500);
      }
    };
    const token = await acquire();
    const counter = { TableName, Key: { owner: 'x', id: 'counter' } };
    const names = { ExpressionAttributeNames: { '#token': 'token' } };
    // Whoever had the lease before writes no more.
    const { Attributes: item } = isFenced
      ? await client.update({
          ...counter,
          ...names,
          UpdateExpression: 'SET #token = :token',
          ConditionExpression: 'attribute_not_exists(#token) OR #token < :token',
          ExpressionAttributeValues: { ':token': token },
          ReturnValues: 'ALL_NEW',
        })
      : { Attributes: (await client.get({ ...counter, ConsistentRead: true })).Item };
    await client.put({
      TableName,
      Item: { ...counter.Key, token, count: Number(item?.['count'] ?? 0) + 1 },
      ...(isFenced && {
        ...names,
        ConditionExpression: '#token = :token',
        ExpressionAttributeValues: { ':token': token },
      }),
    });
    // Who comes too late has nothing to release.
    await client
      .delete({
        TableName,
        Key: place,
        ConditionExpression: '#token = :token',
        ExpressionAttributeNames: { '#token': 'token' },
        ExpressionAttributeValues: { ':token': token },
      })
      .catch(() => {});
  };
  const counted = ({ outcomes, tables: stored }: History) => {
    const count = Number(stored.items(TableName).find(({ id }) => id === 'counter')?.['count'] ?? 0);
    const done = outcomes.filter(({ status }) => status === 'fulfilled').length;
    return count < done ? `${done} are done, but the counter is ${count}.` : undefined;
  };
  const run = (isFenced: boolean, faults: number) => {
    const request = countWith(isFenced);
    return explore({
      tables,
      requests: [request, request],
      check: counted,
      faults,
      kinds: ['paused'],
      delays: 0,
    });
  };

  test('breaks a lease, unless a fencing token refuses who comes too late', async () => {
    expect(await run(false, 0)).toMatchObject({ violations: 0, isComplete: true });
    const broken = await run(false, 1);
    expect(broken.failure?.sentence).toBe('2 are done, but the counter is 1.');
    const fenced = await run(true, 1);
    expect(fenced).toMatchObject({ violations: 0, isComplete: true });
  });
});
