import { getHostHeaderPlugin, partition } from '@aws-sdk/core/client';
import { AwsJson1_0Protocol } from '@aws-sdk/core/protocols';
import {
  type DynamoDBClient,
  errorTypeRegistries,
  type ServiceInputTypes,
  type ServiceOutputTypes,
} from '@aws-sdk/client-dynamodb';
import { DynamoDBJsonCodec2 } from '@aws-sdk/dynamodb-codec';
import { Client, NoOpLogger } from '@smithy/core/client';
import {
  collectBody,
  getContentLengthPlugin,
  HttpRequest,
  HttpResponse,
  parseUrl,
} from '@smithy/core/protocols';
import { getRetryPlugin } from '@smithy/core/retry';
import { getSchemaSerdePlugin } from '@smithy/core/schema';
import { calculateBodyLength, fromBase64, fromUtf8, Hash, toBase64, toUtf8 } from '@smithy/core/serde';
import { type NodeHttpHandler, streamCollector } from '@smithy/node-http-handler';
import { SignatureV4 } from '@smithy/signature-v4';
import type {
  AwsCredentialIdentity,
  FinalizeRequestMiddleware,
  HandlerExecutionContext,
  HttpHandlerOptions,
  HttpResponse as Response,
  MetadataBearer,
  OperationSchema,
  SerdeFunctions,
} from '@smithy/types';
import type { Clock } from './clock.ts';
import { BriefRetryStrategy, maxAttempts } from './retry-strategy.ts';

export interface ClientSettings {
  readonly region: string;
  readonly credentials: AwsCredentialIdentity;
  /** Default: the Region's endpoint. */
  readonly endpoint?: string | undefined;
  readonly requestHandler: NodeHttpHandler;
  /** Signs requests, and is corrected by their answers. */
  readonly clock: Clock;
  /** How often a throttled call is repeated. */
  readonly throttlingRetries: number;
}

/**
 * A DynamoDBClient made of the SDK's own parts: protocol, retries, signatures and HTTP handler. It has no configuration files,
 * credential providers, endpoint rules, endpoint discovery or user agent: a function knows all of this beforehand, and loading
 * it takes a large part of a cold start.
 *
 * Compare https://github.com/aws/aws-sdk-js-v3/blob/main/clients/client-dynamodb/src/DynamoDBClient.ts
 */
export function assembledClient(settings: ClientSettings): DynamoDBClient {
  const { region, credentials, endpoint, requestHandler, throttlingRetries } = settings;
  const url = new URL(endpoint ?? `https://dynamodb.${region}.${partition(region).dnsSuffix}`);
  const retryStrategy = new BriefRetryStrategy(throttlingRetries);
  const config = {
    apiVersion: '2012-08-10',
    serviceId: 'DynamoDB',
    logger: new NoOpLogger(),
    region: async () => region,
    credentials: async () => credentials,
    endpoint: async () => parseUrl(url),
    endpointProvider: () => ({ url }),
    isCustomEndpoint: true,
    disableHostPrefix: true,
    requestHandler,
    maxAttempts: async () => maxAttempts,
    retryStrategy: async () => retryStrategy,
    bodyLengthChecker: calculateBodyLength,
    protocol: new DynamoDbProtocol({
      defaultNamespace: 'com.amazonaws.dynamodb',
      serviceTarget: 'DynamoDB_20120810',
      errorTypeRegistries,
      jsonCodec: new DynamoDBJsonCodec2(),
    }),
    urlParser: parseUrl,
    base64Decoder: fromBase64,
    base64Encoder: toBase64,
    utf8Decoder: fromUtf8,
    utf8Encoder: toUtf8,
    streamCollector,
  };
  const client = new Client<HttpHandlerOptions, ServiceInputTypes, ServiceOutputTypes, typeof config>(config);
  client.middlewareStack.use(getSchemaSerdePlugin(config));
  client.middlewareStack.use(getContentLengthPlugin(config));
  client.middlewareStack.use(getHostHeaderPlugin(config));
  client.middlewareStack.use(getRetryPlugin(config));
  client.middlewareStack.addRelativeTo(sign(settings), {
    name: 'signing',
    relation: 'after',
    toMiddleware: 'retryMiddleware',
  });
  // DynamoDBClient adds no members to Client, and commands read only this configuration.
  return client as unknown as DynamoDBClient;
}

/**
 * The SDK reads an answer that is no JSON object, such as none or `null`, as an answer without members: a write as done, a
 * listing as empty. DynamoDB has an object in every answer.
 */
class DynamoDbProtocol extends AwsJson1_0Protocol {
  override async deserializeResponse<Output extends MetadataBearer>(
    operation: OperationSchema,
    context: HandlerExecutionContext & SerdeFunctions,
    response: Response,
  ): Promise<Output> {
    const body = await collectBody(response.body, context);
    const output = await super.deserializeResponse<Output>(
      operation,
      context,
      Object.assign(response, { body }),
    );
    // The first byte that is no white space is the brace of an object.
    if (body.find((byte) => byte > 0x20) !== 0x7b) throw new SyntaxError('The answer is not a JSON object');
    return output;
  }
}

/**
 * Signs each attempt: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
 *
 * DynamoDB rejects signatures that are more than five minutes off, so every answer corrects the clock:
 * https://github.com/aws/aws-sdk-js-v3/blob/main/packages-internal/core/src/submodules/httpAuthSchemes/aws_sdk/AwsSdkSigV4Signer.ts
 */
function sign({
  region,
  credentials,
  clock,
}: ClientSettings): FinalizeRequestMiddleware<ServiceInputTypes, ServiceOutputTypes> {
  const signer = new SignatureV4({
    service: 'dynamodb',
    region,
    credentials,
    sha256: Hash.bind(null, 'sha256'),
  });
  return (next) => async (args) => {
    if (!HttpRequest.isInstance(args.request)) return next(args);
    const sentAt = Date.now();
    const correctClock = (response: unknown): void => {
      if (HttpResponse.isInstance(response)) clock.correct(response.headers['date'], sentAt);
    };
    const signingDate = new Date(clock.milliseconds());
    try {
      const result = await next({ ...args, request: await signer.sign(args.request, { signingDate }) });
      correctClock(result.response);
      return result;
    } catch (error) {
      if (error instanceof Error && '$response' in error) correctClock(error.$response);
      throw error;
    }
  };
}
