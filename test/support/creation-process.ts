/**
 * A process that creates an animal with an idempotency key, as one more execution environment of the function would. It
 * is forked with the endpoint of DynamoDB as its argument, and answers each order with the outcome.
 */
import { once } from 'node:events';
import { argv } from 'node:process';
import * as z from 'zod/mini';
import { dynamoDb } from '../../functions/dynamodb.ts';
import { createPetOnce } from '../../functions/pets/idempotent-creation.ts';
import { newPetId } from '../../functions/pets/ids.ts';
import { awsVariables } from './aws-variables.ts';

const order = z.object({ pets: z.string(), idempotency: z.string(), id: z.string(), now: z.int() });
export type CreationOrder = z.infer<typeof order>;

const client = dynamoDb(awsVariables(z.parse(z.string(), argv[2])));
process.send?.('ready');
for (;;) {
  const [message] = (await once(process, 'message')) as unknown[];
  const { pets, idempotency, id, now } = z.parse(order, message);
  const outcome = await createPetOnce(
    { client, tableName: pets },
    { client, tableName: idempotency },
    { name: 'Rex', categoryId: 7n, status: 'available' },
    { id, now, newId: () => newPetId(Date.now(), Math.random()), onCollision: () => {}, attempts: 50 },
  );
  process.send?.({ kind: outcome.kind, petId: 'pet' in outcome ? String(outcome.pet.id) : '' });
}
