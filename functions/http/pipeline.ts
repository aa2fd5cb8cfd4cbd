import middy from '@middy/core';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { APIGatewayProxyResult, Context } from 'aws-lambda';
import * as z from 'zod/mini';
import type { Deprecation } from './deprecation.ts';
import { ServiceError } from './errors.ts';
import type { Exchange, ExchangeState } from './exchange.ts';
import { rateLimit, type RateLimitOptions } from './rate-limit.ts';
import { record } from './record.ts';
import type { ApiRequest } from './request.ts';
import { type Answer, respond, toResult } from './respond.ts';

export interface OperationSettings {
  /** The operation's name in the interface, section 4. */
  readonly name: string;
  readonly client: DynamoDBDocumentClient;
  /** When the rate limit is decided, see RateLimitOptions. */
  readonly limit: RateLimitOptions['order'];
  readonly deprecationOf?: (request: ApiRequest) => Deprecation;
}

const environment = z.object({
  RATE_LIMITS_TABLE: z.string(),
  LIMITER_TIMEOUT_MS: z.pipe(
    z.string().check(z.regex(/^\d+$/)),
    z.transform((digits) => Number(digits)),
  ),
  METRICS_NAMESPACE: z.string(),
});

/** Milliseconds before Lambda ends the function that suffice to write an answer and a log line. */
const timeToAnswer = 300;

/**
 * The way every operation is served: record ▸ respond ▸ limit ▸ operate.
 *
 * @throws ZodError while the module loads, when the environment lacks a variable
 */
export function pipeline(
  { name, client, limit, deprecationOf }: OperationSettings,
  operate: (exchange: Exchange) => Promise<Answer>,
) {
  const env = z.parse(environment, process.env);
  return middy<Exchange, APIGatewayProxyResult, unknown, Context, ExchangeState>({
    timeoutEarlyInMillis: timeToAnswer,
    timeoutEarlyResponse: () => {
      throw new ServiceError('service_unavailable', undefined, {
        cause: new Error('The function ran out of time'),
      });
    },
  })
    .use(
      record({
        operation: name,
        namespace: env.METRICS_NAMESPACE,
        // Past the console, which Lambda wraps: an embedded metric has to be the whole line.
        write: (line) => process.stdout.write(`${line}\n`),
      }),
    )
    .use(respond(deprecationOf))
    .use(
      rateLimit({
        table: { client, tableName: env.RATE_LIMITS_TABLE },
        order: limit,
        deprecated: deprecationOf !== undefined,
        timeout: env.LIMITER_TIMEOUT_MS,
      }),
    )
    .handler(async (exchange: Exchange) => toResult(await operate(exchange)));
}
