import * as z from 'zod/mini';
import { dynamoDb } from './dynamodb.ts';
import { parseBody } from './http/input.ts';
import { memberUrl } from './http/links.ts';
import { metrics } from './http/metrics.ts';
import { pipeline } from './http/pipeline.ts';
import { newPetId } from './pets/ids.ts';
import { newPet } from './pets/schema.ts';
import { createPet } from './pets/store.ts';

const env = z.parse(z.object({ PETS_TABLE: z.string() }), process.env);
const client = dynamoDb();
const table = { client, tableName: env.PETS_TABLE };

/** `POST /pets`: adds an animal (interface, section 4.2). The limit is decided first: a rejected request writes nothing. */
export const handler = pipeline(
  { name: 'createPet', client, limit: 'before' },
  async ({ request, recorder, signal }) => {
    const pet = await createPet(table, parseBody(request, newPet), {
      drawId: () => newPetId(Date.now(), Math.random()),
      onCollision: () => recorder.count(metrics.collision),
      signal,
    });
    recorder.count(metrics.created);
    return { status: 201, body: pet, headers: { Location: memberUrl(request.url, pet.id) } };
  },
);
