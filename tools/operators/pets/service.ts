import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { z } from 'zod';
import { retryCalls } from '../command-line/retry.ts';
import { documentClient, openStack, type StackOptions } from '../command-line/stack.ts';

/** Where the animals of one stage are stored, and how to reach them. */
export type PetService = Awaited<ReturnType<typeof openPetService>>;

const outputs = z.object({ PetsTableName: z.string() });

/** @throws ToolError if the stack does not exist, or is of another version */
export async function openPetService(options: StackOptions) {
  const { outputs: found, configuration, ...stack } = await openStack(options, outputs);
  const client = documentClient(retryCalls(new DynamoDBClient(configuration), stack));
  return { ...stack, table: { client, tableName: found.PetsTableName } };
}
