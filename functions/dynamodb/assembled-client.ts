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
import { getContentLengthPlugin, HttpRequest, HttpResponse, parseUrl } from '@smithy/core/protocols';
import { getRetryPlugin, isClockSkewError, StandardRetryStrategy } from '@smithy/core/retry';
import { getSchemaSerdePlugin } from '@smithy/core/schema';
import { calculateBodyLength, fromBase64, fromUtf8, Hash, toBase64, toUtf8 } from '@smithy/core/serde';
import { NodeHttpHandler, streamCollector } from '@smithy/node-http-handler';
import { SignatureV4 } from '@smithy/signature-v4';
import type { AwsCredentialIdentity, FinalizeRequestMiddleware, HttpHandlerOptions } from '@smithy/types';

export interface ClientSettings {
  readonly region: string;
  readonly credentials: AwsCredentialIdentity;
  /** Default: the Region's endpoint. */
  readonly endpoint?: string | undefined;
  /** Milliseconds that one attempt waits for its connection, and in total. Default: no limit. */
  readonly connectionTimeout?: number | undefined;
  readonly requestTimeout?: number | undefined;
}

/** Attempts of one call, and the delay of the first retry in milliseconds: the SDK's values for DynamoDB. */
const maxAttempts = 4;
const baseDelay = 25;

/**
 * A DynamoDBClient made of the SDK's own parts: protocol, retries, signatures and HTTP handler. It has no configuration files,
 * credential providers, endpoint rules, endpoint discovery or user agent: a function knows all of this beforehand, and loading
 * it takes a large part of a cold start (bench/README.md).
 *
 * Compare https://github.com/aws/aws-sdk-js-v3/blob/main/clients/client-dynamodb/src/DynamoDBClient.ts
 */
export function assembledClient({
  region,
  credentials,
  endpoint,
  connectionTimeout,
  requestTimeout,
}: ClientSettings): DynamoDBClient {
  const url = new URL(endpoint ?? `https://dynamodb.${region}.${partition(region).dnsSuffix}`);
  const retryStrategy = new StandardRetryStrategy({ maxAttempts, baseDelay });
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
    requestHandler: new NodeHttpHandler({
      ...(connectionTimeout !== undefined && { connectionTimeout }),
      ...(requestTimeout !== undefined && {
        requestTimeout,
        // Without it the request time-out only logs a warning.
        throwOnRequestTimeout: true,
        // Ends an answer that stops after its headers.
        socketTimeout: requestTimeout,
      }),
    }),
    maxAttempts: async () => maxAttempts,
    retryStrategy: async () => retryStrategy,
    bodyLengthChecker: calculateBodyLength,
    protocol: new AwsJson1_0Protocol({
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
  client.middlewareStack.addRelativeTo(sign({ region, credentials }), {
    name: 'signing',
    relation: 'after',
    toMiddleware: 'retryMiddleware',
  });
  // DynamoDBClient adds no members to Client, and commands read only this configuration.
  return client as unknown as DynamoDBClient;
}

/**
 * Signs each attempt: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
 *
 * DynamoDB rejects signatures that are more than five minutes off. As in the SDK's own client, the clock is corrected by
 * the `Date` of each answer, and an attempt that was rejected for its date is repeated:
 * https://github.com/aws/aws-sdk-js-v3/blob/main/packages-internal/core/src/submodules/httpAuthSchemes/aws_sdk/AwsSdkSigV4Signer.ts
 */
function sign({
  region,
  credentials,
}: Pick<ClientSettings, 'region' | 'credentials'>): FinalizeRequestMiddleware<
  ServiceInputTypes,
  ServiceOutputTypes
> {
  const signer = new SignatureV4({
    service: 'dynamodb',
    region,
    credentials,
    sha256: Hash.bind(null, 'sha256'),
  });
  /** Milliseconds by which DynamoDB's clock is ahead of this one. */
  let clockOffset = 0;
  const correctClock = (response: unknown): void => {
    const date = HttpResponse.isInstance(response) ? Date.parse(response.headers['date'] ?? '') : Number.NaN;
    if (!Number.isNaN(date)) clockOffset = date - Date.now();
  };

  return (next) => async (args) => {
    if (!HttpRequest.isInstance(args.request)) return next(args);
    const usedOffset = clockOffset;
    const signingDate = new Date(Date.now() + usedOffset);
    try {
      const result = await next({ ...args, request: await signer.sign(args.request, { signingDate }) });
      correctClock(result.response);
      return result;
    } catch (error) {
      if (isServiceError(error)) {
        correctClock(error.$response);
        const corrected = Math.abs(clockOffset - usedOffset) >= skewThreshold;
        // Read by the retry middleware.
        if (corrected && isClockSkewError(error)) error.$metadata.clockSkewCorrected = true;
      }
      throw error;
    }
  };
}

/** Milliseconds. A smaller clock error cannot cause a rejected signature. The SDK's value. */
const skewThreshold = 240_000;

type ServiceError = Parameters<typeof isClockSkewError>[0] & {
  readonly $metadata: { clockSkewCorrected?: boolean };
  readonly $response?: unknown;
};

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && '$metadata' in error;
}
