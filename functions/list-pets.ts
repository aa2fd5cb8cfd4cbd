import * as z from 'zod/mini';
import { connect } from './dynamodb/connection.ts';
import { parseQuery } from './http/input.ts';
import { nextLink } from './http/links.ts';
import { metrics } from './http/metrics.ts';
import { pipeline, requestEnvironment } from './http/pipeline.ts';
import { encodeCursor } from './pets/cursor.ts';
import { listing, textOf } from './pets/listing.ts';
import { listPets } from './pets/store.ts';
import { nonEmptyText } from './runtime/environment.ts';
import { tableVariables } from './tables.ts';

const environment = z.parse(
  z.extend(requestEnvironment, { [tableVariables.pets]: nonEmptyText }),
  process.env,
);
const dynamoDb = connect(environment);
const table = { client: dynamoDb.client, tableName: environment.PETS_TABLE };

/** `GET /pets`: one page of animals, newest first (docs/interface.md#list-animals). */
export const handler = pipeline(
  'list-pets',
  { environment, dynamoDb },
  async ({ request, recorder, signal }) => {
    const { limit, filter, before } = parseQuery(listing, request.query);
    const { pets, next, malformed } = await listPets(table, { limit, filter, before }, signal);
    recorder.errors.push(...malformed);
    recorder.count(metrics.malformed, malformed.length);
    if (next === undefined) return { status: 200, body: pets };
    const cursor = encodeCursor({ filter: textOf(filter), before: next });
    const query = { limit, ...(filter && { [filter.key]: filter.value }), cursor };
    return { status: 200, body: pets, headers: { Link: nextLink(request.url, query) } };
  },
);
