import * as z from 'zod/mini';
import { connect } from './dynamodb/connection.ts';
import { variable } from './runtime/environment.ts';
import { ServiceError } from './http/errors.ts';
import { pipeline } from './http/pipeline.ts';

/** The methods of each known path, as JSON. lib/operations.ts defines them. */
const allowedMethods = z.record(z.string(), z.array(z.string()));
const methodsOf = new Map(Object.entries(z.parse(allowedMethods, JSON.parse(variable('ALLOWED_METHODS')))));

/** Any path or method without an operation: 404, or 405 with `Allow` (RFC 9110, section 15.5.6). */
export const handler = pipeline(
  { name: 'unmatchedRoute', dynamoDb: connect(), access: 'read' },
  async ({ request }) => {
    const methods = methodsOf.get(request.resource);
    if (methods === undefined) throw new ServiceError('route_not_found');
    throw new ServiceError('method_not_allowed', undefined, { headers: { Allow: methods.join(', ') } });
  },
);
