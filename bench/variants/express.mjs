import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';
import serverlessExpress from '@codegenie/serverless-express';
import express from 'express';

// The listing alone, without keys, limits or paging, in the way of the adapter's own example:
// https://github.com/CodeGenieApp/serverless-express/tree/mainline/examples
const client = DynamoDBDocumentClient.from(new DynamoDBClient());
const app = express();

// Express 5 passes on what a handler rejects with.
// oxlint-disable-next-line oxc/no-async-endpoint-handlers
app.get('/pets', async (request, response) => {
  const { Items: pets } = await client.send(
    new QueryCommand({
      TableName: process.env.PETS_TABLE,
      IndexName: 'byStatus',
      KeyConditionExpression: '#status = :status',
      ExpressionAttributeNames: { '#status': 'status' },
      ExpressionAttributeValues: { ':status': request.query.status },
      ScanIndexForward: false,
      Limit: 20,
    }),
  );
  response.json(pets);
});

export const handler = serverlessExpress({ app });
