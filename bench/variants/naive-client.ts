import { DynamoDBClient } from '@aws-sdk/client-dynamodb';

/** In the place of functions/dynamodb-client.ts: the SDK's client as it comes, which finds everything out by itself. */
export function leanDynamoDbClient(): DynamoDBClient {
  return new DynamoDBClient();
}
