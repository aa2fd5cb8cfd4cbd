import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test, vi } from 'vitest';
import { type Environment, explore, type Options, type Request, verify } from '../../src/index.ts';

// How a run deepens that is given only a time. The clock goes on by a millisecond each time it is read.

const TableName = 'Counters';
const tables = [
  {
    TableName,
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
    BillingMode: 'PAY_PER_REQUEST',
  },
] as const satisfies Options['tables'];
const documents = ({ client }: Environment, maxAttempts = 2) =>
  DynamoDBDocument.from(new DynamoDB({ ...client, maxAttempts }));

function clock(): () => number {
  let now = 0;
  return () => (now += 1);
}

const put: Request = async (environment) => {
  await documents(environment).put({ TableName, Item: { id: environment.name } });
};
const putA: Request = async (environment) => {
  await documents(environment, 4).put({ TableName, Item: { id: 'a' } });
};
const putOnce: Request = async (environment) => {
  await documents(environment).put({
    TableName,
    Item: { id: 'a' },
    ConditionExpression: 'attribute_not_exists(id)',
  });
};
const scene = { tables, requests: [put], check: () => undefined } as const satisfies Options;

test('without a failure, the levels are run one after the other, and the rest of the time at random', async () => {
  const run = async (time: number) => {
    const { levels, random, bounds, isComplete } = await explore(
      { ...scene, kinds: ['lostBefore', 'lostAfter'], time },
      clock(),
    );
    return { levels: levels.map((each) => Object.values(each).join()), random, bounds, isComplete };
  };
  const all = await run(100);
  expect(all).toEqual({
    levels: ['0,1,true', '1,3,true', '2,7,true'],
    random: expect.any(Number) as number,
    bounds:
      'at most 2 faults and at most 2 delays, calls of at most 1 s; only the faults lostBefore, lostAfter; one draw of each random number; as always (PROOF.md): time goes on only with timers',
    isComplete: true,
  });
  expect(all.random).toBeGreaterThan(30);
  // A quarter of the time is left for schedules at random.
  const some = await run(24);
  expect(some.levels).toEqual(['0,1,true', '1,3,true', expect.stringMatching(/^2,\d+,false$/)]);
  expect(some.random).toBeGreaterThan(1);
  expect(some.bounds).toMatch(/^at most 1 fault and /);
  expect(await run(100)).toEqual(all);
});

test('the faults that no call met are named', async () => {
  const { bounds } = await explore({ ...scene, time: 100 }, clock());
  expect(bounds).toMatch(/; no call met the faults stale, shortPage, unprocessed, paused; /);
});

test('what is given besides stays: kinds, delays, and a budget that ends it before the time', async () => {
  const report = await explore(
    { ...scene, kinds: ['lostAfter', 'stale'], delays: 0, time: 1_000, budget: 40 },
    clock(),
  );
  expect(report).toMatchObject({ schedules: 40, isComplete: true });
  expect(report.bounds).toBe(
    'at most 2 faults and no delay, calls of at most 1 s; only the faults lostAfter, stale; no call met the fault stale; one draw of each random number; as always (PROOF.md): time goes on only with timers',
  );
  const { levels, random } = await explore({ ...scene, faults: 1, time: 1_000 }, clock());
  expect({ levels, random }).toEqual({ levels: [{ faults: 1, schedules: 12, isComplete: true }], random: 0 });
});

describe('a failure', () => {
  const failsWith = (count: number): Options => ({
    ...scene,
    requests: [putA],
    kinds: ['lostBefore'],
    check: ({ faults }) => (faults === count ? `It has ${faults} faults.` : undefined),
  });

  test.each([0, 1, 2, 3])(
    'with %i faults ends the run, and is repeated by its level and path',
    async (count) => {
      const options = { ...failsWith(count), time: 1_000 };
      const { failure, levels, violations } = await explore(options, clock());
      const { sentence, steps, repeat } = failure!;
      expect(sentence).toBe(`It has ${count} faults.`);
      expect(repeat).toMatch(new RegExp(`^${count}:\\d`));
      expect(levels).toHaveLength(Math.min(3, count + 1));
      expect(violations).toBeGreaterThan(0);
      const repeated = await explore({ ...options, repeat });
      expect(repeated).toMatchObject({ schedules: 1, failure: { sentence, steps, repeat } });
    },
  );

  test('is told with the levels that were run', async () => {
    await expect(verify({ ...failsWith(1), time: 1_000 }, clock())).rejects.toThrow(
      /^It has 1 faults\.\n[^]*\n\d+ of 3 schedules violate it\. To repeat this one: repeat: '1:\d+'\nWithout a fault: 1 schedule, all\. With at most 1 fault: 2 schedules, all\.$/,
    );
  });
});

test('verify says what was reached', async () => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    await verify({ ...scene, time: 100 }, clock());
    expect(write.mock.calls).toEqual([
      [
        expect.stringMatching(
          /^dynamodb-interleavings: no violation\. Without a fault: 1 schedule, all\. With at most 1 fault: 15 schedules, all\. With at most 2 faults: \d+ schedules, not all\. At random: \d+ schedules\. Proved: at most 1 fault and at most 2 delays, calls of at most 1 s; .*\.\n$/,
        ),
      ],
    ]);
  } finally {
    write.mockRestore();
  }
});

describe('when the time is over before all schedules without a fault are run', () => {
  const twice = { ...scene, requests: [putOnce, putOnce], time: 0 };

  test('nothing is proved', async () => {
    await expect(verify(twice, clock())).rejects.toThrow(
      /^Not all: no violation\. Without a fault: 1 schedule, not all\. At random: 1 schedule\. Not proved: no fault and /,
    );
    expect(await explore({ ...twice, partial: true }, clock())).toMatchObject({
      isComplete: false,
      violations: 0,
    });
  });

  test('a request that has failed so far is named, but is no failure', async () => {
    const lost = { ...twice, requests: [putA, putA, async () => Promise.reject(new Error('It is lost.'))] };
    expect(await explore(lost, clock())).toMatchObject({
      failures: [],
      bounds: expect.stringMatching(/; Request 3 succeeds in no schedule that was run; /) as string,
    });
  });
});

test('a request that fails in all schedules without a fault, and later, is wrong', async () => {
  const misspelled: Request = async (environment) =>
    documents(environment).put({ TableName: 'Counter', Item: { id: 'a' } });
  const { failure } = await explore({ ...scene, requests: [misspelled], time: 100 }, clock());
  expect(failure).toMatchObject({
    sentence: 'Request 1 succeeds in no schedule. If it is to fail, let it return its error.',
    repeat: '0:0',
  });
});
