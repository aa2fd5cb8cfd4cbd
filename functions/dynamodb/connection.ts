import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { variable, wholeNumber } from '../runtime/environment.ts';
import { assembledClient } from './assembled-client.ts';
import { Clock } from './clock.ts';
import { newRequestHandler } from './request-handler.ts';

/** What a function needs of DynamoDB. */
export interface Connection {
  /** Repeats a throttled call once. */
  readonly client: DynamoDBDocumentClient;
  /** Does not repeat a throttled call. For what is not worth waiting for. */
  readonly impatientClient: DynamoDBDocumentClient;
  readonly clock: Clock;
}

/**
 * The connection of a function to DynamoDB. Numbers are returned as `{ value }` with their exact digits (`wrapNumbers`),
 * because a JavaScript number cannot represent every int64.
 *
 * Lambda sets credentials and Region as environment variables for the life of an execution environment, so the SDK's
 * credential providers are not loaded:
 * https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
 */
export function connect(variables: NodeJS.ProcessEnv = process.env): Connection {
  const sessionToken = variables['AWS_SESSION_TOKEN'];
  const timeout = (name: string) =>
    variables[name] === undefined ? undefined : wholeNumber(name, variables);
  const clock = new Clock();
  const settings = {
    region: variable('AWS_REGION', variables),
    credentials: {
      accessKeyId: variable('AWS_ACCESS_KEY_ID', variables),
      secretAccessKey: variable('AWS_SECRET_ACCESS_KEY', variables),
      ...(sessionToken !== undefined && { sessionToken }),
    },
    endpoint: variables['AWS_ENDPOINT_URL_DYNAMODB'],
    requestHandler: newRequestHandler({
      connectionTimeout: timeout('DYNAMODB_CONNECTION_TIMEOUT_MS'),
      requestTimeout: timeout('DYNAMODB_REQUEST_TIMEOUT_MS'),
    }),
    clock,
  };
  const client = (throttlingRetries: number) =>
    DynamoDBDocumentClient.from(assembledClient({ ...settings, throttlingRetries }), {
      unmarshallOptions: { wrapNumbers: true },
    });
  return { client: client(1), impatientClient: client(0), clock };
}
