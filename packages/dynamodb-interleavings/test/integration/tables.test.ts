import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { beforeAll, expect, inject, test } from 'vitest';
import { Tables } from '../../src/simulation.ts';
import { reservedWords } from '../../src/tables/reserved-words.ts';
import { callsOf, definitions, type RandomCall, runMark } from '../calls.ts';
import { callTables, Engine, type Outcome } from '../engine.ts';

// What is found in the simulation is true of DynamoDB only if its tables answer as DynamoDB does.

const suffix = randomUUID();
const names = { simple: `simple-${suffix}`, sorted: `sorted-${suffix}` };
const tableDefinitions = [
  { ...definitions.simple, TableName: names.simple },
  { ...definitions.sorted, TableName: names.sorted },
];
const engine = new Engine(inject('dynamodbEndpoint'));
const isDynamoDbLocal = inject('database') === 'dynamodb-local';

beforeAll(async () => {
  for (const definition of tableDefinitions)
    await engine.call('CreateTable', { ...definition, BillingMode: 'PAY_PER_REQUEST' });
});

/** The outcome without what an engine does not tell, or tells otherwise than DynamoDB. */
function agreed({ operation, input }: RandomCall, outcome: Outcome, expected: Outcome): object {
  const { ReturnValues: values, IndexName: index } = input as { ReturnValues?: string; IndexName?: string };
  return {
    ...outcome,
    // What has the same sort key in an index is in no order, and a scan sees the items of other runs.
    ...((operation === 'Scan' || index !== undefined) && {
      ScannedCount: undefined,
      Items: outcome.Items?.map((item) => JSON.stringify(item)).toSorted(),
    }),
    // DynamoDB Local knows of a page that ends with the last item that there is no other one. DynamoDB does not.
    ...(isDynamoDbLocal && expected.LastEvaluatedKey === undefined && { LastEvaluatedKey: undefined }),
    // Dynoxide returns more of an item than DynamoDB: its key, if it did not exist before. What an update returns of what it has changed
    // is not the same on all engines: unit/tables.test.ts has it from tests that run on AWS.
    ...((values?.startsWith('UPDATED') === true || (!isDynamoDbLocal && values !== 'ALL_NEW')) && {
      Attributes: undefined,
    }),
  };
}

/** Whether Dynoxide is known to answer otherwise than DynamoDB, which DynamoDB Local does not. */
function isLeftToDynamoDbLocal({ operation, input }: RandomCall): boolean {
  const text = JSON.stringify(input);
  // It has the keys in each projection of several items.
  if (/^(Transact|Batch)Get/.test(operation)) return text.includes('ProjectionExpression');
  // For it an attribute that does not exist does not contain anything.
  if (text.includes('NOT_CONTAINS')) return true;
  // Beyond the end of a list it sets null first, and it removes several elements one after the other.
  return /"UpdateExpression":"[^"]*\[/.test(text);
}

/** An update that only removes makes an item on engines, and none on AWS: unit/tables.test.ts. */
function onlyRemoves({ input }: RandomCall): boolean {
  return /"UpdateExpression":"remove (?![^"]*\b(?:set|add|delete) )/i.test(JSON.stringify(input));
}

/** Whether an engine is known to accept what DynamoDB refuses. */
function isLeftOut(outcome: Outcome): boolean {
  const failsInTransaction = outcome.reasons?.some(({ Code: code }) => code === 'ValidationError') === true;
  return failsInTransaction || (!isDynamoDbLocal && outcome.error === 'ValidationException');
}

test('random calls end as on the engine', async () => {
  const seen = new Map<string, number>();
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(callsOf(names), { minLength: 10, maxLength: 20 }), async (calls) => {
      const tables = new Tables(tableDefinitions);
      run += 1;
      const open = [...calls];
      for (let each = open.shift(); each !== undefined; each = open.shift()) {
        const call = JSON.parse(JSON.stringify(each).replaceAll(runMark, `run ${run}`)) as RandomCall;
        if (onlyRemoves(call) || (!isDynamoDbLocal && isLeftToDynamoDbLocal(call))) continue;
        const found = callTables(tables, call.operation, call.input);
        if (found.error === 'Unsupported' || isLeftOut(found)) continue;
        const expected = await engine.call(call.operation, call.input);
        expect({ call, ...agreed(call, found, expected) }).toEqual({
          call,
          ...agreed(call, expected, expected),
        });
        // This asks for the next page.
        const { LastEvaluatedKey: last } = expected;
        if (last) open.unshift({ ...call, input: { ...call.input, ExclusiveStartKey: last } });
        const kind = `${call.operation} ${found.error ?? 'done'}`;
        seen.set(kind, (seen.get(kind) ?? 0) + 1);
      }
    }),
    {
      numRuns: process.env['CI'] === undefined && process.env['FULL'] === undefined ? 40 : 1_000,
      // Engines have faults of their own, which a new seed would find in the change of somebody else.
      seed: Number(process.env['SEED'] ?? 1),
    },
  );
  const all = 'Get Put Update Delete TransactGet TransactWrite BatchGet BatchWrite'.split(' ');
  expect([...seen.keys()]).toEqual(
    expect.arrayContaining([
      ...all.map((each) => `${each}Item${/Transact/.test(each) ? 's' : ''} done`),
      'Query done',
      'Scan done',
      'PutItem ConditionalCheckFailedException',
      'TransactWriteItems TransactionCanceledException',
    ]),
  );
});

// On AWS a write during a transaction of the same item is refused, and so is a second transaction
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html, "Transaction conflict
// handling"). No engine on this machine does that, so the tables in memory are the only ones that show it.
test('writes of one item at the same time never conflict on the engine, unlike on AWS', async () => {
  const writes = Array.from({ length: 40 }, (_, index) => {
    const put = { TableName: names.simple, Item: { id: { S: 'conflict' }, index: { N: String(index) } } };
    return index % 2 === 0
      ? engine.call('PutItem', put)
      : engine.call('TransactWriteItems', { TransactItems: [{ Put: put }] });
  });
  expect(await Promise.all(writes)).toEqual(writes.map(() => ({})));
});

// Dynoxide does not refuse them.
test.runIf(isDynamoDbLocal)('the reserved words are those of DynamoDB Local', async () => {
  const tables = new Tables(tableDefinitions);
  const others = ['id', 'count1', 'deleted', 'version', 'expiresAt', 'x', 'owners', '_a'];
  const differing: string[] = [];
  for (const word of [...reservedWords, ...others]) {
    const input = {
      TableName: names.simple,
      Key: { id: { S: 'a' } },
      ProjectionExpression: word.toLowerCase(),
    };
    const expected = await engine.call('GetItem', input);
    if (callTables(tables, 'GetItem', input).error !== expected.error) differing.push(word);
  }
  // They are in the documentation, but not in DynamoDB Local.
  expect(differing).toEqual(['CONVERT', 'SIZE']);
});
