import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import * as z from 'zod/mini';
import { nonEmptyText, wholeNumber } from '../runtime/environment.ts';
import { StrictProtocol } from './protocol.ts';
import { BriefRetryStrategy, maxAttempts } from './retry-strategy.ts';

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
  AWS_REGION: nonEmptyText,
  AWS_ACCESS_KEY_ID: nonEmptyText,
  AWS_SECRET_ACCESS_KEY: nonEmptyText,
  AWS_SESSION_TOKEN: z.optional(z.string()),
  /** Default: the Region's endpoint. */
  AWS_ENDPOINT_URL_DYNAMODB: z.optional(z.string()),
  /** How long one attempt waits for its connection, and in total. Default: no limit. */
  DYNAMODB_CONNECTION_TIMEOUT_MS: z.optional(wholeNumber),
  DYNAMODB_REQUEST_TIMEOUT_MS: z.optional(wholeNumber),
});

/** The connection of a function to DynamoDB. Both clients share its sockets. */
export function connect(environment: z.output<typeof connectionEnvironment>): Connection {
  const {
    AWS_SESSION_TOKEN: sessionToken,
    AWS_ENDPOINT_URL_DYNAMODB: endpoint,
    DYNAMODB_CONNECTION_TIMEOUT_MS: connectionTimeout,
    DYNAMODB_REQUEST_TIMEOUT_MS: requestTimeout,
  } = environment;
  const requestHandler = new NodeHttpHandler({
    ...(connectionTimeout !== undefined && { connectionTimeout }),
    // The second ends an answer that stops after its headers.
    ...(requestTimeout !== undefined && { requestTimeout, socketTimeout: requestTimeout }),
    // Without it the request time-out only logs a warning.
    throwOnRequestTimeout: true,
  });
  const clientWith = (throttlingRetries: number) => {
    const client = new DynamoDBClient({
      region: environment.AWS_REGION,
      credentials: {
        accessKeyId: environment.AWS_ACCESS_KEY_ID,
        secretAccessKey: environment.AWS_SECRET_ACCESS_KEY,
        ...(sessionToken !== undefined && { sessionToken }),
      },
      ...(endpoint !== undefined && { endpoint }),
      requestHandler,
      protocol: StrictProtocol,
      retryStrategy: new BriefRetryStrategy(throttlingRetries),
      maxAttempts,
      // A function has no configuration files. The SDK looks for them unless each of their settings is given.
      accountIdEndpointMode: 'disabled',
      authSchemePreference: [],
      defaultsMode: 'standard',
      disableClockSkewCorrection: false,
      endpointDiscoveryEnabled: false,
      ignoreConfiguredEndpointUrls: true,
      retryMode: 'standard',
      useDualstackEndpoint: false,
      useFipsEndpoint: false,
      userAgentAppId: '',
    });
    // It copies the input and output of each call, also for a logger that writes nothing.
    client.middlewareStack.remove('loggerMiddleware');
    // Numbers are `{ value }` with their exact digits, because a JavaScript number cannot represent every int64.
    return DynamoDBDocumentClient.from(client, { unmarshallOptions: { wrapNumbers: true } });
  };
  return { client: clientWith(1), impatientClient: clientWith(0) };
}
