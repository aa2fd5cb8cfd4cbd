import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';

// This is like a function on Lambda, with a client of its own and what it keeps between calls.
const client = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const startedAt = new Date().toISOString();
let calls = 0;

export async function handler(): Promise<object> {
  calls += 1;
  await sleep(1_000);
  const { Attributes: item } = await client.send(
    new UpdateCommand({
      TableName: process.env['TABLE'],
      Key: { id: 'a' },
      UpdateExpression: 'ADD visits :one',
      ExpressionAttributeValues: { ':one': 1 },
      ReturnValues: 'ALL_NEW',
    }),
  );
  return {
    calls,
    startedAt,
    at: new Date().toISOString(),
    visits: item?.['visits'] as unknown,
    random: Math.random(),
  };
}
