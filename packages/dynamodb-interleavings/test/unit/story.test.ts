import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { expect, test } from 'vitest';
import { explore, type Request } from '../../src/index.ts';

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
  expect(failure!.diagram.split('\n').slice(0, 9)).toEqual([
    'sequenceDiagram',
    '  participant R0 as request 1',
    '  participant R1 as request 2',
    '  participant D as DynamoDB',
    '  loop 3 times',
    '  R0->>D: GetItem Jobs {id: "ready"}',
    '  D-->>R0: nothing',
    '  R1->>D: GetItem Jobs {id: "ready"}',
    '  D-->>R1: nothing',
  ]);
});

test('a diagram escapes the signs that Mermaid takes for its own', async () => {
  const get: Request = ({ client }) =>
    DynamoDBDocument.from(new DynamoDB(client)).get({ TableName, Key: { id: 'a#1;2' } });
  const { failure } = await explore({ tables, requests: [get], check: () => 'It is drawn.' });
  expect(failure!.diagram).toContain('GetItem Jobs {id: "a#35;1#59;2"}');
});
