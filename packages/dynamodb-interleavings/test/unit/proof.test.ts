import { describe, expect, test } from 'vitest';
import { type Environment, explore, type Fault, type History, type Options } from '../../src/index.ts';

/*
 * Small programs of which everything that can happen on AWS was written down before they were run. They speak DynamoDB's protocol,
 * without the SDK, which would repeat calls. Each has to have these results with the reduction and without it.
 */

const TableName = 'Items';
const table = {
  TableName,
  KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
  AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
} as const;

type Program = (environment: Environment) => Promise<unknown>;
interface Answer {
  readonly status: number;
  /** The name of an error, or its reasons. */
  readonly error: string | undefined;
  readonly [member: string]: unknown;
}

async function call(
  { client: { requestHandler } }: Environment,
  operation: string,
  input: object,
  options: object = {},
): Promise<Answer> {
  const headers = { 'x-amz-target': `DynamoDB_20120810.${operation}` };
  const { response } = await requestHandler.handle({ headers, body: JSON.stringify(input) }, options);
  const { statusCode, body } = response as { readonly statusCode: number; readonly body: Buffer };
  const output = JSON.parse(body.toString()) as { __type?: string; CancellationReasons?: { Code: string }[] };
  const reasons = output.CancellationReasons?.map(({ Code: code }) => code).join();
  return { status: statusCode, error: reasons ?? output.__type?.split('#').at(-1), ...output };
}
const put = (environment: Environment, id: string, n = 0, options: object = {}) =>
  call(environment, 'PutItem', { TableName, Item: { id: { S: id }, n: { N: String(n) } } }, options);
const putOnce = (environment: Environment, id: string) =>
  call(environment, 'PutItem', {
    TableName,
    Item: { id: { S: id }, n: { N: '0' } },
    ConditionExpression: 'attribute_not_exists(id)',
  });
/** Its number, or `none`. */
async function get(environment: Environment, id: string, ConsistentRead = true): Promise<string> {
  const { Item: item } = await call(environment, 'GetItem', {
    TableName,
    Key: { id: { S: id } },
    ConsistentRead,
  });
  return (item as { n: { N: string } } | undefined)?.n.N ?? 'none';
}
const transaction = (environment: Environment, ids: readonly string[], n = 0) =>
  call(environment, 'TransactWriteItems', {
    TransactItems: ids.map((id) => ({ Put: { TableName, Item: { id: { S: id }, n: { N: String(n) } } } })),
  });
const transactGet = (environment: Environment, ids: readonly string[]) =>
  call(environment, 'TransactGetItems', {
    TransactItems: ids.map((id) => ({ Get: { TableName, Key: { id: { S: id } } } })),
  });
const numbersOf = ({ Responses: responses }: Answer) =>
  (responses as { Item?: { n: { N: string } } }[]).map(({ Item: item }) => item?.n.N ?? 'none').join(' ');
const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const within = (milliseconds: number, work: Promise<unknown>) =>
  Promise.race([work.then(() => 'in time'), sleep(milliseconds).then(() => 'too late')]);

type More = Partial<Omit<Options, 'check' | 'kinds'>> & { readonly kinds?: readonly Fault[] };

/** Everything that the programs return, and what is stored in the end if it is of interest. */
async function resultsOf(requests: readonly Program[], more: More, stored = false) {
  const seen = new Set<string>();
  const report = await explore({
    tables: [table],
    requests,
    ...more,
    check: ({ outcomes, tables }: History) => {
      const said = outcomes.map((each) => (each.status === 'fulfilled' ? String(each.value) : each.status));
      const items = stored ? tables.items(TableName).map(({ id, n }) => `${String(id)}=${String(n)}`) : [];
      seen.add([...said, ...items].join(', '));
      return undefined;
    },
  });
  expect(report.isComplete).toBe(true);
  return [...seen].toSorted();
}

/** An end one second ahead, between two reads. */
const lease: Program = async (environment) => {
  await get(environment, 'a');
  const end = Date.now() + 1_000;
  await get(environment, 'b');
  return Date.now() > end ? 'expired' : 'holds';
};
const giveUp: Program = async (environment) => {
  await Promise.race([put(environment, 'c'), sleep(1_500)]);
  return '';
};
const leave: Program = async () => {
  setTimeout(() => {}, 1_500);
  return '';
};
const poll =
  (attempts: number): Program =>
  async (environment) => {
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      if ((await get(environment, 'a')) !== 'none') return attempt;
      await sleep(200);
    }
    return 'never';
  };
const throttled: Program = async (environment) => (await put(environment, 'a')).error ?? 'done';
const one = { faults: 1, delays: 0 } as const;

type Case = readonly [
  name: string,
  requests: readonly Program[],
  more: More,
  results: readonly string[],
  stored?: boolean,
];
const programs: readonly Case[] = [
  [
    'a pause while a timer is left behind',
    [giveUp, lease],
    { faults: 1, kinds: ['paused'], delays: 0 },
    [', expired', ', holds'],
  ],
  [
    'the same in the other order',
    [lease, giveUp],
    { faults: 1, kinds: ['paused'], delays: 0 },
    ['expired, ', 'holds, '],
  ],
  [
    'a pause while a request that makes no call leaves a timer behind',
    [leave, lease],
    { faults: 1, kinds: ['paused'], delays: 0 },
    [', expired', ', holds'],
  ],
  [
    'a write that is seen before its writer has the answer',
    [
      (environment) => within(500, put(environment, 'a')),
      async (environment) => {
        await sleep(300);
        return get(environment, 'a');
      },
    ],
    { delays: 1 },
    ['in time, 0', 'in time, none', 'too late, 0', 'too late, none'],
  ],
  [
    'a write is seen, and its writer has the answer only after what that has caused',
    [
      async (environment) => {
        const start = Date.now();
        await put(environment, 'a');
        return Date.now() - start;
      },
      async (environment) => {
        if ((await get(environment, 'a')) === 'none') return 'none';
        await sleep(700);
        return 'seen';
      },
    ],
    { delays: 1 },
    ['0, none', '0, seen', '700, seen'],
  ],
  [
    'a write whose client gives up, and that is there all the same',
    [
      async (environment) => {
        const abortSignal = AbortSignal.timeout(300);
        return put(environment, 'a', 0, { abortSignal }).then(
          () => 'done',
          () => get(environment, 'a'),
        );
      },
    ],
    { delays: 1 },
    ['0', 'done', 'none'],
  ],
  [
    'a poller sees a slow write at any attempt',
    [async (environment) => void (await put(environment, 'a')), poll(4)],
    { delays: 1 },
    ['undefined, 1', 'undefined, 2', 'undefined, 3', 'undefined, 4', 'undefined, never'],
  ],
  [
    'a slow write that was given up comes after the next one',
    [
      async (environment) => {
        await within(100, put(environment, 'a', 1));
        await put(environment, 'a', 2);
        return '';
      },
    ],
    { delays: 1 },
    [', a=1', ', a=2'],
    true,
  ],
  [
    'a write that is left behind is seen by who comes later, or not',
    [
      async (environment) => {
        setTimeout(() => void put(environment, 'a'), 300);
        return '';
      },
      async (environment) => {
        await sleep(1_000);
        return get(environment, 'a');
      },
    ],
    { delays: 1 },
    [', 0', ', none'],
  ],
  [
    'every error of throttling',
    [throttled],
    { ...one, kinds: ['throttled'] },
    ['ProvisionedThroughputExceededException', 'ThrottlingException', 'done'],
  ],
  [
    'the errors of throttling of a table on demand',
    [throttled],
    { ...one, kinds: ['throttled'], tables: [{ ...table, BillingMode: 'PAY_PER_REQUEST' }] },
    ['ThrottlingException', 'done'],
  ],
  [
    'a transaction is cancelled for any of its items',
    [async (environment) => (await transaction(environment, ['a', 'b', 'c'])).error ?? 'done'],
    { ...one, kinds: ['conflict'] },
    [
      'None,None,TransactionConflict',
      'None,TransactionConflict,None',
      'TransactionConflict,None,None',
      'done',
    ],
  ],
  [
    'a transaction that reads is cancelled, too',
    [async (environment) => (await transactGet(environment, ['a', 'b'])).error ?? 'done'],
    { ...one, kinds: ['conflict'] },
    ['None,TransactionConflict', 'TransactionConflict,None', 'done'],
  ],
  [
    'a write can be applied although DynamoDB says that it has failed',
    [async (environment) => (await putOnce(environment, 'a')).status],
    { ...one, kinds: ['failed', 'failedAfter'] },
    ['200, a=0', '500', '500, a=0'],
    true,
  ],
  [
    'a stale read sees no write, the first one or both',
    [
      async (environment) => {
        await put(environment, 'a', 1);
        await put(environment, 'a', 2);
        return get(environment, 'a', false);
      },
    ],
    { ...one, kinds: ['stale'] },
    ['1', '2', 'none'],
  ],
  [
    'a stale read misses a write that came before one that it sees',
    [
      async (environment) => {
        await put(environment, 'a', 1);
        const other = await get(environment, 'b');
        const { Items: items } = await call(environment, 'Scan', { TableName });
        return [other, ...(items as { id: { S: string } }[]).map(({ id }) => id.S)].join(' ');
      },
      async (environment) => void (await put(environment, 'b', 1)),
    ],
    { ...one, kinds: ['stale'] },
    ['1', '1 a', '1 a b', '1 b', 'none', 'none a', 'none a b', 'none b'].map((each) => `${each}, undefined`),
  ],
  [
    'a page ends at any item',
    [async (environment) => (await call(environment, 'Scan', { TableName }))['Count']],
    { ...one, kinds: ['shortPage'], items: { [TableName]: ['a', 'b', 'c'].map((id) => ({ id, n: 0 })) } },
    ['1', '2', '3'],
  ],
  [
    'a call that is given up arrives after the next one',
    [
      async (environment) => {
        await put(environment, 'a', 1).catch(() => {});
        await put(environment, 'a', 2);
        return '';
      },
    ],
    { ...one, kinds: ['late'] },
    // The second one can be given up, too.
    [', a=1', ', a=2', 'rejected, a=2'],
    true,
  ],
  [
    'two puts that must not overwrite: one is refused',
    [0, 1].map(() => async (environment: Environment) => (await putOnce(environment, 'a')).error ?? 'done'),
    {},
    ['ConditionalCheckFailedException, done', 'done, ConditionalCheckFailedException'],
  ],
  [
    'a transaction is read as a whole by another one',
    [
      async (environment) => (await transaction(environment, ['a', 'b'], 1)).status,
      async (environment) => numbersOf(await transactGet(environment, ['a', 'b'])),
    ],
    {},
    ['200, 1 1', '200, none none'],
  ],
  [
    'and in part by two reads',
    [
      async (environment) => (await transaction(environment, ['a', 'b'], 1)).status,
      async (environment) => `${await get(environment, 'a')} ${await get(environment, 'b')}`,
    ],
    {},
    ['200, 1 1', '200, none 1', '200, none none'],
  ],
  [
    'a process that crashes after a write ends what it has left behind',
    [
      async (environment) => {
        setTimeout(() => void put(environment, 'late'), 100);
        await put(environment, 'a');
        await sleep(500);
        return 'done';
      },
    ],
    { ...one, kinds: ['crashedAfter'] },
    ['crashed, a=0', 'crashed, a=0, late=0', 'done, a=0, late=0'],
    true,
  ],
];

describe.each([true, false])('with reduce: %s', (reduce) => {
  test.each(programs.map((each) => ({ name: each[0], each })))('$name', async ({ each }) => {
    const [, requests, more, results, stored = false] = each;
    expect(await resultsOf(requests, { ...more, reduce }, stored)).toEqual([...results].toSorted());
  });
});

test('what happens on AWS and in no schedule is named', async () => {
  const boundsOf = async (requests: readonly Program[], more: More = {}) =>
    (await explore({ tables: [table], requests, check: () => undefined, ...more })).bounds;
  const batch = (environment: Environment) =>
    call(environment, 'BatchWriteItem', {
      RequestItems: {
        [TableName]: ['a', 'b'].map((id) => ({ PutRequest: { Item: { id: { S: id } } } })),
      },
    });
  const scan = (environment: Environment) => call(environment, 'Scan', { TableName });
  const items = { [TableName]: ['a', 'b'].map((id) => ({ id, n: 0 })) };
  const wait: Program = async (environment) => {
    while ((await get(environment, 'a')) === 'none') await sleep(100);
  };
  const write: Program = (environment) => put(environment, 'a');
  expect(await boundsOf([write, batch])).toBe(
    'no fault and at most 2 delays, calls of at most 1 s; batches do their items in order; as always (PROOF.md): ' +
      'all requests begin at the same time, one clock for all, time goes on only with timers',
  );
  expect(await boundsOf([write])).toBe(
    'no fault and at most 2 delays, calls of at most 1 s; as always (PROOF.md): time goes on only with timers',
  );
  const both: Program = (environment) => Promise.all([write(environment), put(environment, 'b')]);
  expect(await boundsOf([both])).toMatch(
    /; answers to one request arrive in the order in which DynamoDB gets its calls; /,
  );
  expect(await boundsOf([write, scan], { items })).toMatch(/; a query or scan sees one state of its items; /);
  expect(await boundsOf([write, leave])).toMatch(/; no timer goes off after the last request has ended; /);
  expect(await boundsOf([write, scan], { shared: () => ({}) })).toMatch(
    /; no other request uses what is shared between a call and its answer; /,
  );
  expect(await boundsOf([wait, write], { faults: 1, kinds: ['paused'], delays: 0 })).toMatch(
    /; no pause ends, and no late call arrives, between two equal answers to a request that polls; /,
  );
});
