import { connect } from './dynamodb/connection.ts';
import { variable } from './runtime/environment.ts';
import { parseQuery } from './http/input.ts';
import { nextLink } from './http/links.ts';
import { metrics } from './http/metrics.ts';
import { pipeline } from './http/pipeline.ts';
import { encodeCursor } from './pets/cursor.ts';
import { listing } from './pets/listing.ts';
import { listPets } from './pets/store.ts';

const dynamoDb = connect();
const table = { client: dynamoDb.client, tableName: variable('PETS_TABLE') };

/** `GET /pets`: one page of animals, newest first (docs/interface.md#41-list-animals). */
export const handler = pipeline(
  { name: 'listPets', dynamoDb, access: 'read' },
  async ({ request, recorder, signal }) => {
    const { limit, status, before } = parseQuery(listing, request.query);
    const { pets, next, malformed } = await listPets(table, { limit, status, before }, signal);
    for (const error of malformed) {
      recorder.error(error);
      recorder.count(metrics.malformed);
    }
    if (next === undefined) return { status: 200, body: pets };
    const cursor = encodeCursor({ status, before: next });
    return { status: 200, body: pets, headers: { Link: nextLink(request.url, { limit, status, cursor }) } };
  },
);
