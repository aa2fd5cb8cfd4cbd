import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { retryCalls } from '../command-line/retry.ts';
import { documentClient, openStack, type StackOptions } from '../command-line/stack.ts';

/** Where the animals of one stage are stored, and how to reach them. */
export type PetService = Awaited<ReturnType<typeof openPetService>>;

/** @throws ToolError if the stack does not exist, or is of another version */
export async function openPetService(options: StackOptions) {
  const { outputs: _, output, configuration, ...stack } = await openStack(options);
  const client = documentClient(retryCalls(new DynamoDBClient(configuration), stack));
  return { ...stack, table: { client, tableName: output('PetsTableName') } };
}
