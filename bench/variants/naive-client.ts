import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';

/** Replaces own-client.ts: the SDK's client in its default configuration. */
export const client = DynamoDBDocumentClient.from(new DynamoDBClient());
