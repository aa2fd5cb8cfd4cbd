import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from 'vitest';
import {
  counter,
  type Environment,
  explore,
  lock,
  once,
  type Options,
  verify,
  sum,
  unique,
} from '../../src/index.ts';

const TableName = 'Counters';
const tables = [
  {
    TableName,
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
  },
] as const;
const Key = { id: 'a' };
const documents = ({ client }: Environment) => DynamoDBDocument.from(new DynamoDB(client));
type Request = Options['requests'][number];

const visit: Request = async (environment) => {
  const client = documents(environment);
  const { Item: item } = await client.get({ TableName, Key, ConsistentRead: true });
  await client.put({ TableName, Item: { ...Key, count: (item?.['count'] ?? 0) + 1 } });
};
const add: Request = async (environment) => {
  await documents(environment).update({
    TableName,
    Key,
    UpdateExpression: 'ADD visits :one',
    ExpressionAttributeValues: { ':one': 1 },
  });
};
/** Goes off duty if somebody else is on duty. */
const leave =
  (id: string): Request =>
  async (environment) => {
    const client = documents(environment);
    const { Items: items } = await client.scan({ TableName, ConsistentRead: true });
    if (items!.filter((item) => item['onDuty'] === true).length > 1)
      await client.put({ TableName, Item: { id, onDuty: false } });
  };
const onDuty = { [TableName]: ['a', 'b'].map((id) => ({ id, onDuty: true })) };
/** IDs and times of its own, and one by name. */
const order: Request = async (environment) => {
  const client = documents(environment);
  const id = crypto.randomUUID();
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 1_000));
  const item = {
    id,
    at: new Date().toISOString(),
    until: Math.floor(Date.now() / 1_000) + 60,
    by: environment.name,
  };
  await client.put({ TableName, Item: item });
  await client.put({ TableName, Item: { id: `log of ${id}`, at: Date.now() } });
  return { id, at: Date.now() };
};

describe('without a check', () => {
  test('a lost update and write skew are not serializable', async () => {
    await expect(verify({ tables, requests: [visit, visit] })).rejects.toThrow(
      /^The result is not serializable: no order of the requests gives it\. The nearest: request 1, then request 2, gives Counters \{count: 2, id: "a"\} instead of Counters \{count: 1, id: "a"\}\./,
    );
    await expect(verify({ tables, items: onDuty, requests: [leave('a'), leave('b')] })).rejects.toThrow(
      'not serializable',
    );
  });

  test('what is counted by DynamoDB passes, and fails if a lost answer makes the SDK repeat it', async () => {
    expect(await verify({ tables, requests: [add, add, add] })).toMatchObject({
      schedules: 6,
      violations: 0,
    });
    const faults = { faults: 1, kinds: ['lostBefore', 'crashedAfter', 'crashedBefore', 'denied'] } as const;
    expect(await verify({ tables, requests: [add, add], ...faults })).toMatchObject({ violations: 0 });
    await expect(verify({ tables, requests: [add], faults: 1, kinds: ['lostAfter'] })).rejects.toThrow(
      'request 1, gives Counters {id: "a", visits: 1} instead of Counters {id: "a", visits: 2}',
    );
  });

  test('IDs, times and random numbers of a request are its own', async () => {
    const kinds = ['lostAfter', 'throttled', 'hungAfter', 'crashedBefore'] as const;
    const idempotent: Request = async (environment) => {
      const id = crypto.randomUUID();
      await documents(environment).put({ TableName, Item: { id, at: Date.now() } });
      return id;
    };
    expect(await verify({ tables, requests: [order, order] })).toMatchObject({ violations: 0 });
    expect(await verify({ tables, requests: [idempotent, idempotent], faults: 1, kinds })).toMatchObject({
      violations: 0,
    });
  });

  test('an ID that is returned is compared with the one that is stored', async () => {
    const own: Request = async (environment) => {
      const client = documents(environment);
      const owner = crypto.randomUUID();
      await client.put({ TableName, Item: { ...Key, owner } });
      const { Item: item } = await client.get({ TableName, Key, ConsistentRead: true });
      return { owner, isMine: item!['owner'] === owner };
    };
    await expect(verify({ tables, requests: [own, own] })).rejects.toThrow('not serializable');
  });

  test('a request that crashes between two writes is nearest to none', async () => {
    await expect(verify({ tables, requests: [order], faults: 1, kinds: ['crashedAfter'] })).rejects.toThrow(
      'The nearest: no request, gives nothing instead of ',
    );
  });

  test('a request that fails in every schedule is wrong', async () => {
    const misspelled: Request = async (environment) =>
      documents(environment).get({ TableName: 'Counter', Key });
    await expect(verify({ tables, requests: [visit, misspelled], check: lock() })).rejects.toThrow(
      /^Request 2 succeeds in no schedule.*GetItem Counter {id: "a"} → ResourceNotFoundException/s,
    );
  });

  test('requests afterwards and events have their place in an order', async () => {
    const read: Request = async (environment) => (await documents(environment).get({ TableName, Key })).Item;
    const options: Options = {
      tables,
      requests: [add, read],
      afterwards: [read],
      events: { 'somebody deletes it': ({ tables: stored }) => stored.delete(TableName, { id: { S: 'a' } }) },
    };
    expect(await verify(options)).toMatchObject({ violations: 0 });
    const items = { [TableName]: [{ ...Key, count: 5 }] };
    await expect(verify({ ...options, items, requests: [visit] })).rejects.toThrow('not serializable');
  });
});

describe('a check that is ready', () => {
  const acquire: Request = async (environment) => {
    const client = documents(environment);
    for (;;) {
      const now = Date.now();
      const lease = {
        TableName,
        Item: { ...Key, until: now + 5_000 },
        ConditionExpression: 'attribute_not_exists(id) OR #until < :now',
        ExpressionAttributeNames: { '#until': 'until' },
        ExpressionAttributeValues: { ':now': now },
      };
      if (
        await client.put(lease).then(
          () => true,
          () => false,
        )
      )
        break;
      await new Promise((resolve) => setTimeout(resolve, 2_000));
    }
    await environment.inside(() => client.put({ TableName, Item: { id: `work of ${environment.name}` } }));
    await client.delete({ TableName, Key });
  };

  test('of a lock finds that a pause breaks a lease', async () => {
    const options: Options = { tables, requests: [acquire, acquire], check: lock(), kinds: ['paused'] };
    expect(await verify(options)).toMatchObject({ violations: 0 });
    await expect(verify({ ...options, faults: 1 })).rejects.toThrow(
      'request 1 and request 2 hold the lock at the same time.',
    );
  });

  test('of a lock also sees who was inside before a known state', async () => {
    const work =
      (name: string, reads: number): Request =>
      async (environment) => {
        const client = documents(environment);
        const read = () => client.get({ TableName, Key: { id: name } });
        for (let left = reads; left > 0; left -= 1) await read();
        await environment.inside(read);
        await read();
      };
    await expect(verify({ tables, requests: [work('a', 0), work('b', 1)], check: lock() })).rejects.toThrow(
      'hold the lock',
    );
  });

  test('of what is unique, and of a sum that stays', async () => {
    const take =
      (id: string): Request =>
      async (environment) => {
        const client = documents(environment);
        const { Items: found = [] } = await client.scan({ TableName, ConsistentRead: true });
        if (!found.some((each) => each['email'] === 'ann@example.com'))
          await client.put({ TableName, Item: { id, email: 'ann@example.com' } });
      };
    await expect(
      verify({ tables, requests: [take('a'), take('b')], check: unique(TableName, 'email') }),
    ).rejects.toThrow(/^Two items of \w+ have the email ann@example\.com\./);
    const move: Request = async (environment) => {
      const client = documents(environment);
      const read = async (id: string) =>
        Number((await client.get({ TableName, Key: { id }, ConsistentRead: true })).Item!['balance']);
      const [from, to] = [await read('a'), await read('b')];
      await client.put({ TableName, Item: { id: 'a', balance: from - 1 } });
      await client.put({ TableName, Item: { id: 'b', balance: to + 1 } });
    };
    const items = { [TableName]: ['a', 'b'].map((id) => ({ id, balance: 10 })) };
    const check = sum(TableName, 'balance', 20);
    expect(await verify({ tables, items, requests: [move], check })).toMatchObject({ violations: 0 });
    await expect(verify({ tables, items, requests: [move, move], check })).rejects.toThrow(
      /^The balance of \w+ sums up to \d+ instead of 20\./,
    );
  });

  test('of a counter tells too few and too many', async () => {
    const check = counter(TableName, 'count');
    await expect(verify({ tables, requests: [visit, visit], check })).rejects.toThrow(
      '2 of 2 requests succeed, but 1 are counted.',
    );
    const faults = { faults: 1, kinds: ['lostAfter', 'crashedAfter'] } as const;
    const { failure } = await explore({
      tables,
      requests: [add],
      check: counter(TableName, 'visits'),
      ...faults,
    });
    expect(failure?.sentence).toBe('1 of 1 requests succeed, but 2 are counted.');
  });

  test('of a sum and of a counter are exact', async () => {
    const adding =
      (...amounts: readonly (readonly [id: string, amount: string])[]): Request =>
      ({ client }) =>
        new DynamoDB(client).transactWriteItems({
          TransactItems: amounts.map(([id, N]) => ({
            Update: {
              TableName,
              Key: { id: { S: id } },
              UpdateExpression: 'ADD n :n',
              ExpressionAttributeValues: { ':n': { N } },
            },
          })),
        });
    const itemsOf = (n: number | bigint) => ({ [TableName]: [{ id: 'a', n }] });
    const move = adding(['a', '-0.1'], ['b', '0.1']);
    const large = 12_345_678_901_234_567_890_123_456_789_012_345_678n;
    for (const total of [0.3, large])
      expect(
        await explore({
          tables,
          items: itemsOf(total),
          requests: [total === large ? adding(['a', '-1'], ['b', '1']) : move],
          check: sum(TableName, 'n', total),
        }),
      ).toMatchObject({ failure: undefined });
    const counting = { tables, items: itemsOf(large), requests: [adding(['a', '1'])] };
    expect(await explore({ ...counting, check: counter(TableName, 'n', large) })).toMatchObject({
      failure: undefined,
    });
    const { failure } = await explore({ ...counting, check: sum(TableName, 'n', large) });
    expect(failure?.sentence).toBe(`The n of ${TableName} sums up to ${large + 1n} instead of ${large}.`);
  });

  test('of what is done once finds twice and never', async () => {
    const check = once(TableName);
    await expect(verify({ tables, requests: [order, order], check })).rejects.toThrow('It is done 4 times');
    await expect(verify({ tables, requests: [leave('a')], check })).rejects.toThrow('It is not done');
    expect(await verify({ tables, requests: [visit, visit], check })).toMatchObject({ violations: 0 });
  });
});
