import * as z from 'zod/mini';
import { connect } from './dynamodb/connection.ts';
import { ServiceError } from './http/errors.ts';
import { collectionUrl, successorLink } from './http/links.ts';
import { pipeline, requestEnvironment } from './http/pipeline.ts';
import { parseInt64 } from './pets/int64.ts';
import { getPet } from './pets/store.ts';
import { nonEmptyText } from './runtime/environment.ts';
import { tableVariables } from './tables.ts';

const environment = z.parse(
  z.extend(requestEnvironment, { [tableVariables.pets]: nonEmptyText }),
  process.env,
);
const dynamoDb = connect(environment);
const table = { client: dynamoDb.client, tableName: environment.PETS_TABLE };

/** `GET /pets/{petId}`: one animal by its ID. Deprecated. */
export const handler = pipeline('get-pet', { environment, dynamoDb }, async ({ request, signal }) => {
  // The interface has no 400 here: an ID that is not an int64 is an unknown ID.
  const id = parseInt64(request.pathParameters['petId'] ?? '');
  const pet = id === undefined ? undefined : await getPet(table, id, signal);
  if (pet === undefined) throw new ServiceError('pet_not_found');
  const successor = `${collectionUrl(request.url)}?status=${pet.status}`;
  return { status: 200, body: pet, headers: { Link: successorLink(successor) } };
});
