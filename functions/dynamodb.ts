import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { leanDynamoDbClient } from './dynamodb-client.ts';

const milliseconds = z.pipe(
  z.string().check(z.regex(/^\d+$/)),
  z.transform((digits) => Number(digits)),
);

const environment = z.object({
  AWS_REGION: z.string(),
  AWS_ACCESS_KEY_ID: z.string(),
  AWS_SECRET_ACCESS_KEY: z.string(),
  AWS_SESSION_TOKEN: z.optional(z.string()),
  AWS_ENDPOINT_URL_DYNAMODB: z.optional(z.string()),
  DYNAMODB_CONNECTION_TIMEOUT_MS: z.optional(milliseconds),
  DYNAMODB_REQUEST_TIMEOUT_MS: z.optional(milliseconds),
});

/**
 * The DynamoDB client of a function. Numbers are returned as `{ value }`, their exact digits (`wrapNumbers`),
 * because an int64 does not fit a JavaScript number and the text "7" is not the number 7.
 *
 * Credentials and Region are taken from the environment that Lambda sets, for the life of an execution
 * environment, so the SDK's chain of credential providers need not be loaded:
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
