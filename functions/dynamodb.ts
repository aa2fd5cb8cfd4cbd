import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { leanDynamoDbClient } from './dynamodb-client.ts';
import { wholeNumber } from './environment.ts';

const environment = z.object({
  AWS_REGION: z.string(),
  AWS_ACCESS_KEY_ID: z.string(),
  AWS_SECRET_ACCESS_KEY: z.string(),
  AWS_SESSION_TOKEN: z.optional(z.string()),
  AWS_ENDPOINT_URL_DYNAMODB: z.optional(z.string()),
  DYNAMODB_CONNECTION_TIMEOUT_MS: z.optional(wholeNumber),
  DYNAMODB_REQUEST_TIMEOUT_MS: z.optional(wholeNumber),
});

/**
 * The DynamoDB client of a function. Numbers are returned as `{ value }` with their exact digits (`wrapNumbers`),
 * because a JavaScript number cannot represent every int64.
 *
 * Lambda sets credentials and Region as environment variables for the life of an execution environment, so the SDK's
 * credential providers are not loaded:
 * https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
 */
export function dynamoDb(variables: NodeJS.ProcessEnv = process.env): DynamoDBDocumentClient {
  const env = z.parse(environment, variables);
  const client = leanDynamoDbClient({
    region: env.AWS_REGION,
    credentials: {
      accessKeyId: env.AWS_ACCESS_KEY_ID,
      secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
      ...(env.AWS_SESSION_TOKEN !== undefined && { sessionToken: env.AWS_SESSION_TOKEN }),
    },
    endpoint: env.AWS_ENDPOINT_URL_DYNAMODB,
    connectionTimeout: env.DYNAMODB_CONNECTION_TIMEOUT_MS,
    requestTimeout: env.DYNAMODB_REQUEST_TIMEOUT_MS,
  });
  return DynamoDBDocumentClient.from(client, { unmarshallOptions: { wrapNumbers: true } });
}
