import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { Hono } from 'hono';
import { handle } from 'hono/aws-lambda';

// The listing alone, without keys, limits or paging: https://hono.dev/docs/getting-started/aws-lambda
const client = DynamoDBDocumentClient.from(new DynamoDBClient());
const app = new Hono();

app.get('/pets', async (context) => {
  const { Items: pets } = await client.send(
    new QueryCommand({
      TableName: process.env.PETS_TABLE,
      IndexName: 'byStatus',
      KeyConditionExpression: '#status = :status',
      ExpressionAttributeNames: { '#status': 'status' },
      ExpressionAttributeValues: { ':status': context.req.query('status') },
      ScanIndexForward: false,
      Limit: 20,
    }),
  );
  return context.json(pets);
});

export const handler = handle(app);
