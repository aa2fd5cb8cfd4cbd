import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';

/** Replaces functions/dynamodb/assembled-client.ts: the SDK's client with explicit Region, credentials and endpoint. */
export function assembledClient(settings: DynamoDBClientConfig): DynamoDBClient {
  return new DynamoDBClient(settings);
}
