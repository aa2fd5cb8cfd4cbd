import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';

/** In the place of functions/dynamodb-client.ts: the SDK's client, told its Region, credentials and endpoint. */
export function leanDynamoDbClient(settings: DynamoDBClientConfig): DynamoDBClient {
  return new DynamoDBClient(settings);
}
