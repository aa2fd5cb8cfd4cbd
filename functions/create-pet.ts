import * as z from 'zod/mini';
import { connect } from './dynamodb/connection.ts';
import { ServiceError } from './http/errors.ts';
import { parseIdempotencyKey, parseInput, readBody, requestIdentity } from './http/input.ts';
import { itemUrl } from './http/links.ts';
import { metrics } from './http/metrics.ts';
import { pipeline, requestEnvironment } from './http/pipeline.ts';
import { createPetOnce, recordIdOf } from './pets/idempotent-creation.ts';
import { newPetId } from './pets/ids.ts';
import { newPet } from './pets/schema.ts';
import { createPet } from './pets/store.ts';
import { nonEmptyText } from './runtime/environment.ts';
import { toUnixSeconds } from './runtime/unix-time.ts';
import { tableVariables } from './tables.ts';

const environment = z.parse(
  z.extend(requestEnvironment, {
    [tableVariables.pets]: nonEmptyText,
    [tableVariables.idempotency]: nonEmptyText,
  }),
  process.env,
);
const dynamoDb = connect(environment);
const table = { client: dynamoDb.client, tableName: environment.PETS_TABLE };
const idempotency = { client: dynamoDb.client, tableName: environment.IDEMPOTENCY_TABLE };

/** `POST /pets`: adds an animal (docs/interface.md#add-an-animal). Limited first: a rejected request writes nothing. */
export const handler = pipeline(
  'create-pet',
  { environment, dynamoDb },
  async ({ request, recorder, signal }) => {
    const body = readBody(request);
    const pet = parseInput(newPet, body, 'body');
    const idempotencyKey = parseIdempotencyKey(request);
    const creation = {
      newId: () => newPetId(Date.now(), Math.random()),
      addedBy: request.caller.keyId,
      onCollision: () => recorder.count(metrics.collision),
      signal,
    };
    const outcome =
      idempotencyKey === undefined
        ? { kind: 'created' as const, pet: await createPet(table, pet, creation) }
        : await createPetOnce(table, idempotency, pet, {
            ...creation,
            recordId: recordIdOf(request.caller.keyHash, idempotencyKey),
            identity: requestIdentity(request),
            now: toUnixSeconds(Date.now()),
          });
    if (outcome.kind === 'mismatch') throw new ServiceError('idempotency_key_reused');
    recorder.count(metrics[outcome.kind]);
    return {
      status: 201,
      body: outcome.pet,
      headers: {
        Location: itemUrl(request.url, outcome.pet.id),
        ...(outcome.kind === 'replayed' && { 'Idempotency-Replayed': 'true' }),
      },
    };
  },
);
