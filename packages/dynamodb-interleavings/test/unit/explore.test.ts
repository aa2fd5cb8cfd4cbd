import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test, vi } from 'vitest';
import { type Environment, explore, type History, type Options, textOf, verify } from '../../src/index.ts';

const counters = {
  TableName: 'Counters',
  KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
  AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
} as const;
const TableName = 'Counters';
const documents = (environment: Environment) =>
  DynamoDBDocumentClient.from(new DynamoDBClient(environment.client));

async function increment(environment: Environment): Promise<void> {
  const client = documents(environment);
  const { Item: item } = await client.send(
    new GetCommand({ TableName, Key: { id: 'a' }, ConsistentRead: true }),
  );
  await client.send(new PutCommand({ TableName, Item: { id: 'a', count: (item?.['count'] ?? 0) + 1 } }));
}

async function incrementOnCondition(environment: Environment): Promise<void> {
  const client = documents(environment);
  for (;;) {
    const { Item: item } = await client.send(
      new GetCommand({ TableName, Key: { id: 'a' }, ConsistentRead: true }),
    );
    try {
      await client.send(
        new PutCommand({
          TableName,
          Item: { id: 'a', count: item!['count'] + 1 },
          ConditionExpression: '#count = :read',
          ExpressionAttributeNames: { '#count': 'count' },
          ExpressionAttributeValues: { ':read': item!['count'] },
        }),
      );
      return;
    } catch (error) {
      if ((error as Error).name !== 'ConditionalCheckFailedException') throw error;
    }
  }
}

async function add(environment: Environment): Promise<void> {
  await documents(environment).send(
    new UpdateCommand({
      TableName,
      Key: { id: 'a' },
      UpdateExpression: 'ADD #count :one',
      ExpressionAttributeNames: { '#count': 'count' },
      ExpressionAttributeValues: { ':one': 1 },
    }),
  );
}

function counted({ outcomes, tables }: History): string | undefined {
  const done = outcomes.filter(({ status }) => status === 'fulfilled').length;
  const count = tables.items('Counters')[0]?.['count'];
  return count === done ? undefined : `${done} increments were done, but the counter is ${String(count)}.`;
}

const writes = (id: string) => async (environment: Environment) => {
  const client = documents(environment);
  await client.send(new PutCommand({ TableName, Item: { id } }));
  const { Item: item } = await client.send(new GetCommand({ TableName, Key: { id }, ConsistentRead: true }));
  await client.send(new PutCommand({ TableName, Item: { ...item, id, done: true } }));
};

const scene = { tables: [counters], items: { Counters: [{ id: 'a', count: 0 }] }, check: counted };
const twice = (request: Options['requests'][number]) => ({ ...scene, requests: [request, request] });

describe('two increments', () => {
  test('that read and write back lose one, in two of four schedules', async () => {
    const report = await explore(twice(increment));
    expect(report).toMatchObject({ schedules: 4, violations: 2, isComplete: true });
    expect(await explore({ ...twice(increment), reduce: false })).toMatchObject({
      schedules: 6,
      violations: 4,
    });
    expect(report.failure?.sentence).toBe('2 increments were done, but the counter is 1.');
    expect(report.failure?.trace.filter((line) => /GetItem|PutItem/.test(line))).toHaveLength(4);
    await expect(verify(twice(increment))).rejects.toThrow(
      /but the counter is 1[^]* 1 │ {2}GetItem Counters \{id: "a"\} → \{id: "a", count: 0\} .*explore\.test\.ts:\d+\n/,
    );
  });

  test('with a condition are both counted in every schedule', async () => {
    expect(await verify(twice(incrementOnCondition))).toMatchObject({ violations: 0, isComplete: true });
  });

  test('with ADD are both counted without a fault, and one twice if its answer is lost and the SDK repeats it', async () => {
    expect(await verify(twice(add))).toMatchObject({ schedules: 2 });
    const { failure } = await explore({ ...twice(add), faults: 1, kinds: ['lostAfter'] });
    expect(failure?.sentence).toBe('2 increments were done, but the counter is 3.');
  });

  test('with ADD can be counted after the client has given up', async () => {
    const { failure } = await explore({ ...scene, requests: [add], faults: 1, kinds: ['late'] });
    expect(failure?.trace.join('\n')).toMatch(
      /still on its way[^]*arrives at DynamoDB, although it was given up/,
    );
  });
});

test('a failure is repeated by its string, and a long run by its seed', async () => {
  const { failure } = await explore(twice(increment));
  const repeated = await explore({ ...twice(increment), repeat: failure!.repeat });
  expect(repeated).toMatchObject({ schedules: 1, violations: 1, isComplete: false, failure });
  const run = async () => ({
    ...(await explore({ ...twice(increment), seed: 7, budget: 20 })),
    perSecond: 0,
  });
  const [first, second] = [await run(), await run()];
  expect(first.schedules).toBe(20);
  expect(second).toEqual(first);
  expect(await explore({ ...twice(increment), repeat: first.failure!.repeat })).toMatchObject({
    violations: 1,
  });
});

test.each([
  ['3 increments', [increment, increment, increment], 36, 90],
  ['4 increments', [increment, increment, increment, increment], 576, undefined],
  ['4 requests with nothing in common', ['b', 'c', 'd', 'e'].map(writes), 1, undefined],
])('%s are run once for each order that makes a difference', async (_, requests, schedules, all) => {
  expect(await explore({ ...scene, requests, check: () => undefined })).toMatchObject({
    schedules,
    isComplete: true,
  });
  if (all !== undefined)
    expect(await explore({ ...scene, requests, reduce: false })).toMatchObject({ schedules: all });
});

test('requests share what is made for each schedule, and an event happens at any time or not at all', async () => {
  const counts = new Set<unknown>();
  const visit = async ({ shared }: { readonly shared: { client: DynamoDBDocumentClient } }) => {
    await shared.client.send(new GetCommand({ TableName, Key: { id: 'a' }, ConsistentRead: true }));
    const output = await shared.client.send(new GetCommand({ TableName, Key: { id: 'a' } }));
    return output.Item!['count'];
  };
  const report = await explore({
    ...scene,
    shared: ({ network }) => {
      const requestHandler = network.handlerFor('the server', () => {}, 1_000);
      const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
      const options = { region: 'eu-central-1', credentials, requestHandler };
      return { client: DynamoDBDocumentClient.from(new DynamoDBClient(options)) };
    },
    requests: [visit],
    events: {
      'somebody sets it to 7': ({ tables }) => tables.put(TableName, { id: { S: 'a' }, count: { N: '7' } }),
    },
    check: ({ outcomes: [outcome] }) => {
      counts.add(outcome!.status === 'fulfilled' && outcome!.value);
      return outcome!.status === 'fulfilled' ? undefined : 'It fails.';
    },
  });
  expect(report).toMatchObject({ schedules: 3, violations: 0, isComplete: true });
  expect(counts).toEqual(new Set([0, 7]));
});

test('a hung call ends by the time-out of its client, and delays end before or after other calls', async () => {
  const report = await explore({
    ...twice(incrementOnCondition),
    faults: 1,
    kinds: ['hungAfter', 'throttled'],
  });
  expect(report.isComplete).toBe(true);
  // The condition of the repeated call fails on its own write, so one is counted twice.
  expect(textOf(report)).toMatch(/applied, and no answer comes/);
});

test('what the tables do not know ends the exploration, whatever the code makes of it', async () => {
  const request = async (environment: Environment) => {
    const input = { TableName, Key: { id: 'a' }, ReturnConsumedCapacity: 'TOTAL' } as const;
    await documents(environment)
      .send(new GetCommand(input))
      .catch(() => undefined);
  };
  await expect(explore({ ...scene, requests: [request] })).rejects.toThrow(
    'ReturnConsumedCapacity of GetItem',
  );
});

test('clock, timers and random numbers are simulated, and given back', async () => {
  const seen: unknown[] = [];
  const request = async (environment: Environment) => {
    await add(environment);
    const { setTimeout: sleep } = await import('node:timers/promises');
    const from = Date.now();
    await sleep(3_600_000);
    await new Promise((resolve) => setTimeout(resolve, 60_000));
    await new Promise((resolve) => {
      AbortSignal.timeout(60_000).addEventListener('abort', resolve);
    });
    seen.push([new Date().toISOString(), Date.now() - from, Math.random(), crypto.randomUUID()]);
  };
  const now = Date.now();
  await explore({ ...scene, requests: [request], check: () => undefined });
  await explore({ ...scene, requests: [request], check: () => undefined });
  const [first] = seen as unknown[][];
  expect(first!.slice(0, 2)).toEqual(['2026-01-01T01:02:00.000Z', 3_720_000]);
  for (const each of seen) expect(each).toEqual(first);
  expect(Date.now() - now).toBeLessThan(600_000);
});

test('a request that waits for nothing is never answered', async () => {
  const { failure } = await explore({ ...scene, requests: [() => new Promise(() => {})] });
  expect(failure?.sentence).toMatch(/^Request 1 is never answered\. It waits for nothing in the simulation/);
});

test('a check can be asynchronous, and its errors are violations', async () => {
  const { Counters: items } = scene.items;
  const check = async ({ tables }: History): Promise<undefined> => {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(tables.items('Counters')).toEqual(items);
  };
  await expect(verify({ ...scene, requests: [add], check })).rejects.toThrow(
    /^The check fails: expected[^]*1 {2}UpdateItem Counters/,
  );
});

test('what was not run to its end is not proved', async () => {
  const options = { ...twice(incrementOnCondition), budget: 1 };
  await expect(verify(options)).rejects.toThrow(
    /^Not all: 1 schedule with no fault and at most 2 delays, calls of at most 1 s; as always [^;]*, \d+ a second: no violation\./,
  );
  expect(await verify({ ...options, partial: true })).toMatchObject({ schedules: 1, isComplete: false });
  for (const bound of [{ time: 0, faults: 0 }, { signal: AbortSignal.abort() }])
    expect(await explore({ ...twice(incrementOnCondition), ...bound })).toMatchObject({ isComplete: false });
});

test('a client that is not given the one of the environment is refused, and the run fails', async () => {
  const forgotten = async () => {
    const credentials = { accessKeyId: 'real', secretAccessKey: 'real' };
    const client = DynamoDBDocumentClient.from(new DynamoDBClient({ region: 'eu-central-1', credentials }));
    await client.send(new GetCommand({ TableName, Key: { id: 'a' } })).catch(() => {});
  };
  const message = 'A request opens a network connection. Give each client of the AWS SDK the `client`';
  await expect(explore({ ...scene, requests: [forgotten] })).rejects.toThrow(message);
  const calls = async () => fetch('https://example.com').catch(() => {});
  await expect(explore({ ...scene, requests: [add, calls] })).rejects.toThrow(message);
});

test('a run without a call of DynamoDB fails', async () => {
  await expect(explore({ ...scene, requests: [async () => {}] })).rejects.toThrow(
    'No call has reached the simulation.',
  );
});

test('a request that does not end is a violation', async () => {
  const endless = async (environment: Environment) => {
    for (;;) {
      await add(environment);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  await expect(verify({ ...scene, requests: [endless] })).rejects.toThrow(
    /^Request 1 has not ended after \d+ steps\./,
  );
});

test('a run that was given up ends when the next one begins', async () => {
  const three = {
    ...scene,
    requests: [incrementOnCondition, incrementOnCondition, incrementOnCondition],
    check: counted,
  };
  const first = explore(three);
  await expect(
    Promise.all([explore({ ...scene, requests: [add], check: () => undefined }), first]),
  ).rejects.toThrow('Another exploration has begun in this process.');
  expect(await explore({ ...scene, requests: [add], check: () => undefined })).toMatchObject({
    isComplete: true,
  });
});

test('a long run says how far it is', async () => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  // A schedule takes a second.
  let time = 0;
  const now = () => (time += 1_000);
  await explore(
    { ...twice(incrementOnCondition), check: () => undefined, faults: 1, kinds: ['lostAfter'] },
    now,
  );
  const lines = write.mock.calls.map(([line]) => line);
  write.mockRestore();
  expect(lines[0]).toMatch(
    /^dynamodb-interleavings: \d+ schedules? in \d+ s, \d+ a second, \d+ of them violations, at least \d+ to go\n$/,
  );
});
