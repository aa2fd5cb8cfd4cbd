import type { TestProject } from 'vitest/node';
import { startDynamoDb } from 'cdk-offline/dynamodb';

declare module 'vitest' {
  interface ProvidedContext {
    dynamodbEndpoint: string;
  }
}

/** One DynamoDB Local for all integration tests; each makes tables of its own in it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dynamodb = await startDynamoDb();
  project.provide('dynamodbEndpoint', dynamodb.endpoint);
  return () => dynamodb.stop();
}
