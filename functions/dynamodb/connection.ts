import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { text, wholeNumber } from '../runtime/environment.ts';
import { newClient } from './client.ts';
import { newRequestHandler } from './request-handler.ts';

/** What a function needs of DynamoDB. */
export interface Connection {
  /** Repeats a throttled call once. */
  readonly client: DynamoDBDocumentClient;
  /** Does not repeat a throttled call. For what is not worth waiting for. */
  readonly impatientClient: DynamoDBDocumentClient;
}

/**
 * Lambda sets credentials and Region for the life of an execution environment:
 * https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
 */
export const connectionEnvironment = z.object({
  AWS_REGION: text,
  AWS_ACCESS_KEY_ID: text,
  AWS_SECRET_ACCESS_KEY: text,
  AWS_SESSION_TOKEN: z.optional(z.string()),
  AWS_ENDPOINT_URL_DYNAMODB: z.optional(z.string()),
  DYNAMODB_CONNECTION_TIMEOUT_MS: z.optional(wholeNumber),
  DYNAMODB_REQUEST_TIMEOUT_MS: z.optional(wholeNumber),
});

/**
 * The connection of a function to DynamoDB. Numbers are returned as `{ value }` with their exact digits (`wrapNumbers`),
 * because a JavaScript number cannot represent every int64.
 */
export function connect(environment: z.output<typeof connectionEnvironment>): Connection {
  const { AWS_SESSION_TOKEN: sessionToken } = environment;
  const settings = {
    region: environment.AWS_REGION,
    credentials: {
      accessKeyId: environment.AWS_ACCESS_KEY_ID,
      secretAccessKey: environment.AWS_SECRET_ACCESS_KEY,
      ...(sessionToken !== undefined && { sessionToken }),
    },
    endpoint: environment.AWS_ENDPOINT_URL_DYNAMODB,
    requestHandler: newRequestHandler({
      connectionTimeout: environment.DYNAMODB_CONNECTION_TIMEOUT_MS,
      requestTimeout: environment.DYNAMODB_REQUEST_TIMEOUT_MS,
    }),
  };
  const client = (throttlingRetries: number) =>
    DynamoDBDocumentClient.from(newClient({ ...settings, throttlingRetries }), {
      unmarshallOptions: { wrapNumbers: true },
    });
  return { client: client(1), impatientClient: client(0) };
}
