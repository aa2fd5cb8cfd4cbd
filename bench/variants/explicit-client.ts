import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';

let client: DynamoDBClient | undefined;

/**
 * Replaces functions/dynamodb/assembled-client.ts: the SDK's client with explicit Region, credentials and endpoint.
 * One for the operation and the limiter, as most functions have.
 */
export function assembledClient(settings: DynamoDBClientConfig): DynamoDBClient {
  return (client ??= new DynamoDBClient(settings));
}
