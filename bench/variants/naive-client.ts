import { DynamoDBClient } from '@aws-sdk/client-dynamodb';

let client: DynamoDBClient | undefined;

/**
 * Replaces functions/dynamodb/assembled-client.ts: the SDK's client in its default configuration.
 * One for the operation and the limiter, as most functions have.
 */
export function assembledClient(): DynamoDBClient {
  return (client ??= new DynamoDBClient());
}
