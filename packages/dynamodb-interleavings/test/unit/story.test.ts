import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { expect, test } from 'vitest';
import { type Environment, explore, type Request, textOf } from '../../src/index.ts';

const TableName = 'Jobs';
const tables = [
  {
    TableName,
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
  },
] as const;

/** Waits for a job, and takes it. */
const take: Request = async ({ client, name }) => {
  const documents = DynamoDBDocument.from(new DynamoDB(client));
  for (let turn = 0; turn < 3; turn += 1) {
    await documents.get({ TableName, Key: { id: 'ready' } });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  try {
    await documents.put({
      TableName,
      Item: { id: 'job', name },
      ConditionExpression: 'attribute_not_exists(id)',
    });
  } catch (cause) {
    throw new Error('The job is taken.', { cause });
  }
};

test('a failure tells who did what, when and where, with each loop once and the first cause of an error', async () => {
  const { failure } = await explore({
    tables,
    requests: [take, take],
    check: () => 'It is told.',
    delays: 0,
    faults: 1,
    kinds: ['lostAfter'],
  });
  const lines = failure!.trace.map((line) =>
    line.replace(/\S*(?=story\.test\.ts)/, '').replaceAll(/ {2,}/g, '  '),
  );
  const [at, error] = ['story.test.ts:19', 'ConditionalCheckFailedException'];
  expect(lines).toEqual([
    `  0.000 s  1 │  GetItem Jobs {id: "ready"} → nothing (2 lines, 3 times)  ${at}`,
    `  0.000 s  │ 2  GetItem Jobs {id: "ready"} → nothing  ${at}`,
    '  3.000 s  1 │  PutItem Jobs {id: "job", name: "request 1"} → done  story.test.ts:23',
    `  3.000 s  │ 2  PutItem Jobs {id: "job", name: "request 2"} → ${error}  story.test.ts:23`,
    '  3.000 s  1 │  returns undefined',
    `  3.000 s  │ 2  fails: Error: The job is taken., because of ${error}: The conditional request failed  story.test.ts:23`,
  ]);
});

const put = (environment: Parameters<Request>[0], id: string) =>
  DynamoDBDocument.from(new DynamoDB(environment.client)).put({ TableName, Item: { id } });
const linesOf = (lines: readonly string[]) => lines.map((line) => line.replace(/ {2,}\S+:\d+$/, ''));

test('each sentence of a failure is told with its shortest schedule', async () => {
  const report = await explore({
    tables,
    requests: [(environment) => put(environment, 'a')],
    faults: 1,
    kinds: ['crashedBefore', 'crashedAfter'],
    check: ({ outcomes, tables: stored }) =>
      outcomes[0]!.status === 'crashed'
        ? `It crashed with ${stored.items(TableName).length} jobs.`
        : undefined,
  });
  expect(report.failures.map(({ sentence }) => sentence).toSorted()).toEqual([
    'It crashed with 0 jobs.',
    'It crashed with 1 jobs.',
  ]);
  const text = textOf(report);
  expect(text).toContain('It crashed with 0 jobs.');
  expect(text).toContain('It crashed with 1 jobs.');
  for (const { repeat } of report.failures) expect(text).toContain(`repeat: '${repeat}'`);
});

test('a transaction names its keys, and a section says when it begins and ends', async () => {
  const { failure } = await explore({
    tables,
    requests: [
      (environment) =>
        environment.inside(() =>
          DynamoDBDocument.from(new DynamoDB(environment.client)).transactWrite({
            TransactItems: [
              { Put: { TableName, Item: { id: 'a' } } },
              { Delete: { TableName, Key: { id: 'b' } } },
            ],
          }),
        ),
    ],
    check: () => 'It is told.',
  });
  expect(linesOf(failure!.trace).slice(0, 3)).toEqual([
    '1  is inside',
    '1  TransactWriteItems Jobs Put {id: "a"}, Delete {id: "b"} → done',
    '1  is outside again',
  ]);
});

test('a request can return what JSON does not have', async () => {
  const { failure } = await explore({
    tables,
    requests: [
      async (environment) => {
        await put(environment, 'a');
        return { id: 1n };
      },
    ],
    check: () => 'It is told.',
  });
  expect(failure!.trace.at(-1)).toBe('1  returns {"id":"1n"}');
});

test('a fault that no call met is named', async () => {
  const { bounds } = await explore({
    tables,
    requests: [(environment) => put(environment, 'a')],
    faults: 1,
    kinds: ['lostAfter', 'stale'],
    check: () => undefined,
  });
  expect(bounds).toMatch(/; no call met the fault stale; /);
});

test('a call that is aborted has reached the simulation', async () => {
  const report = await explore({
    tables,
    requests: [
      async ({ client: { requestHandler } }) => {
        const stop = new AbortController();
        const headers = { 'x-amz-target': 'DynamoDB_20120810.Scan' };
        const answer = requestHandler.handle(
          { headers, body: JSON.stringify({ TableName }) },
          { abortSignal: stop.signal },
        );
        stop.abort();
        await answer.catch(() => {});
      },
    ],
    check: () => undefined,
  });
  expect(report).toMatchObject({ isComplete: true, schedules: 1 });
});

test('a transaction that is cancelled says why, and at which item', async () => {
  const { failures } = await explore({
    tables,
    requests: [
      (environment) =>
        DynamoDBDocument.from(new DynamoDB({ ...environment.client, maxAttempts: 1 }))
          .transactWrite({ TransactItems: ['a', 'b'].map((id) => ({ Put: { TableName, Item: { id } } })) })
          .catch(() => {}),
    ],
    faults: 1,
    kinds: ['conflict'],
    check: ({ calls: [first] }) => first!.outcome,
  });
  expect(failures.map(({ trace }) => trace[0])).toEqual(
    expect.arrayContaining([
      expect.stringContaining('→ TransactionCanceledException (conflict at item 1)'),
      expect.stringContaining('→ TransactionCanceledException (conflict at item 2)'),
    ]),
  );
});

test('a request that waits for one that has crashed says so', async () => {
  const { failures } = await explore<{ done?: Promise<unknown> }>({
    tables,
    shared: () => ({}),
    requests: [0, 1].map(
      () => (environment) =>
        (environment.shared.done = (environment.shared.done ?? Promise.resolve()).then(() =>
          put(environment, 'a'),
        )),
    ),
    faults: 1,
    kinds: ['crashedBefore'],
    check: () => undefined,
  });
  expect(failures.map(({ sentence }) => sentence)).toEqual([
    'Request 2 is never answered. It waits for nothing in the simulation, perhaps for request 1, which has crashed. If what is ' +
      'shared is the memory of one process, leave out the faults crashedBefore and crashedAfter.',
  ]);
});

test('a batch names its items', async () => {
  const { failure } = await explore({
    tables,
    requests: [
      async (environment) => {
        const client = DynamoDBDocument.from(new DynamoDB(environment.client));
        await client.batchWrite({
          RequestItems: {
            [TableName]: [{ PutRequest: { Item: { id: 'a' } } }, { DeleteRequest: { Key: { id: 'b' } } }],
          },
        });
        await client.batchGet({ RequestItems: { [TableName]: { Keys: [{ id: 'a' }, { id: 'c' }] } } });
      },
    ],
    check: () => 'It is told.',
  });
  const lines = linesOf(failure!.trace);
  expect(lines[0]).toBe('1  BatchWriteItem Jobs Put {id: "a"}, Delete {id: "b"} → item 1 is done');
  expect(lines[2]).toMatch(/^1 {2}BatchGetItem Jobs Get \{id: "a"\}, Get \{id: "c"\} → /);
});

test('a call that a request makes with the client of another one is in its own lane', async () => {
  const { failure } = await explore<{ client?: Environment }>({
    tables,
    shared: () => ({}),
    requests: ['a', 'b'].map((id) => (environment) => put((environment.shared.client ??= environment), id)),
    check: () => 'It is told.',
  });
  expect(linesOf(failure!.trace).slice(0, 2)).toEqual([
    '1 │  PutItem Jobs {id: "a"} → done',
    '│ 2  PutItem Jobs {id: "b"} → done',
  ]);
});

test('a run without a call tells what its requests came to', async () => {
  const wrong: Request = async () => {
    throw new Error('It is undefined.', { cause: new TypeError('x is not a function') });
  };
  await expect(explore({ tables, requests: [wrong, async () => 7] })).rejects.toThrow(
    /^No call has reached the simulation\..* Request 1 fails: Error: It is undefined\., because of TypeError: x is not a function\. Request 2 returns 7\.$/,
  );
});
