import * as z from 'zod/mini';
import { connect } from './dynamodb/connection.ts';
import { ServiceError } from './http/errors.ts';
import { pipeline, requestEnvironment } from './http/pipeline.ts';
import { allowedMethods, unmatchedRoute } from './operations.ts';

const environment = z.parse(requestEnvironment, process.env);
const methodsOf = allowedMethods();

/** Any path or method without an operation: 404, or 405 with `Allow` (RFC 9110, section 15.5.6). */
export const handler = pipeline(
  unmatchedRoute,
  { environment, dynamoDb: connect(environment) },
  async ({ request }) => {
    const methods = methodsOf.get(request.resource);
    if (methods === undefined) throw new ServiceError('route_not_found');
    throw new ServiceError('method_not_allowed', undefined, { headers: { Allow: methods.join(', ') } });
  },
);
