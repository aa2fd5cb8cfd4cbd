import { DynamoDBClient } from '@aws-sdk/client-dynamodb';

/** Replaces functions/dynamodb-client.ts: the SDK's client in its default configuration. */
export function leanDynamoDbClient(): DynamoDBClient {
  return new DynamoDBClient();
}
