import { DynamoDBClient } from '@aws-sdk/client-dynamodb';

/** Replaces functions/dynamodb/assembled-client.ts: the SDK's client in its default configuration. */
export function assembledClient(): DynamoDBClient {
  return new DynamoDBClient();
}
