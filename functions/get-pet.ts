import { connect } from './dynamodb/connection.ts';
import { getPetDates, successorLink } from './http/deprecation.ts';
import { ServiceError } from './http/errors.ts';
import { collectionUrl } from './http/links.ts';
import { pipeline } from './http/pipeline.ts';
import { parseInt64 } from './pets/int64.ts';
import { getPet } from './pets/store.ts';
import { variable } from './runtime/environment.ts';

const dynamoDb = connect();
const table = { client: dynamoDb.client, tableName: variable('PETS_TABLE') };

const since = new Date(getPetDates.since);
const removal = new Date(getPetDates.removal);

/** `GET /pets/{petId}`: one animal by its ID. Deprecated. */
export const handler = pipeline(
  {
    name: 'getPet',
    dynamoDb,
    access: 'read',
    deprecationOf: ({ url }) => ({ since, removal, successor: collectionUrl(url) }),
  },
  async ({ request, signal }) => {
    // The interface has no 400 here: an ID that is not an int64 is an unknown ID.
    const id = parseInt64(request.pathParameters['petId'] ?? '');
    const pet = id === undefined ? undefined : await getPet(table, id, signal);
    if (pet === undefined) throw new ServiceError('pet_not_found');
    const successor = `${collectionUrl(request.url)}?status=${pet.status}`;
    return { status: 200, body: pet, headers: { Link: successorLink(successor) } };
  },
);
