import middy from '@middy/core';
import * as z from 'zod/mini';
import { list } from './bare.ts';

const event = z.object({
  requestContext: z.object({ authorizer: z.object({ keyHash: z.string() }) }),
  pathParameters: z._default(z.nullable(z.record(z.string(), z.string())), null),
});

/** The listing of bare.ts behind the libraries of the operations. */
export const handler = middy().handler((given: unknown) => list(z.parse(event, given)));
