import type { TestProject } from 'vitest/node';
import { startDynamoDbLocal } from '../../packages/cdk-offline/src/dynamodb.ts';

declare module 'vitest' {
  interface ProvidedContext {
    dynamodbEndpoint: string;
  }
}

/** One DynamoDB Local for all integration tests; each makes tables of its own in it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dynamodb = await startDynamoDbLocal();
  project.provide('dynamodbEndpoint', dynamodb.endpoint);
  return () => dynamodb.stop();
}
