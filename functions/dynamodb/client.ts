import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { variable, wholeNumber } from '../runtime/environment.ts';
import { assembledClient } from './assembled-client.ts';

/**
 * The DynamoDB client of a function. Numbers are returned as `{ value }` with their exact digits (`wrapNumbers`),
 * because a JavaScript number cannot represent every int64.
 *
 * Lambda sets credentials and Region as environment variables for the life of an execution environment, so the SDK's
 * credential providers are not loaded:
 * https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
 */
export function dynamoDb(variables: NodeJS.ProcessEnv = process.env): DynamoDBDocumentClient {
  const sessionToken = variables['AWS_SESSION_TOKEN'];
  const timeout = (name: string) =>
    variables[name] === undefined ? undefined : wholeNumber(name, variables);
  const client = assembledClient({
    region: variable('AWS_REGION', variables),
    credentials: {
      accessKeyId: variable('AWS_ACCESS_KEY_ID', variables),
      secretAccessKey: variable('AWS_SECRET_ACCESS_KEY', variables),
      ...(sessionToken !== undefined && { sessionToken }),
    },
    endpoint: variables['AWS_ENDPOINT_URL_DYNAMODB'],
    connectionTimeout: timeout('DYNAMODB_CONNECTION_TIMEOUT_MS'),
    requestTimeout: timeout('DYNAMODB_REQUEST_TIMEOUT_MS'),
  });
  return DynamoDBDocumentClient.from(client, { unmarshallOptions: { wrapNumbers: true } });
}
