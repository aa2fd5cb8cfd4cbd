import { createHash, createHmac, createSecretKey, type Hash, type Hmac } from 'node:crypto';
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
import { getContentLengthPlugin, HttpRequest, parseUrl } from '@smithy/core/protocols';
import { getRetryPlugin, StandardRetryStrategy } from '@smithy/core/retry';
import { getSchemaSerdePlugin } from '@smithy/core/schema';
import { fromBase64, fromUtf8, toBase64, toUint8Array, toUtf8 } from '@smithy/core/serde';
import { NodeHttpHandler, streamCollector } from '@smithy/node-http-handler';
import { SignatureV4 } from '@smithy/signature-v4';
import type {
  AwsCredentialIdentity,
  Checksum,
  FinalizeRequestMiddleware,
  HttpHandlerOptions,
  SourceData,
} from '@smithy/types';

export interface ClientSettings {
  readonly region: string;
  readonly credentials: AwsCredentialIdentity;
  /** Where DynamoDB is, when it is not the Region's own. */
  readonly endpoint?: string;
}

/** Attempts of one call, and the delay that the first retry starts from in milliseconds: the SDK's own for DynamoDB. */
const maxAttempts = 4;
const baseDelay = 25;

/**
 * A DynamoDBClient put together from the SDK's own parts: the protocol, retries and signatures of the original, without
 * what the original decides for itself on every machine it may find itself on. It reads no configuration file, has no
 * chain of credential providers and no endpoint rules, discovers nothing and sends no user agent: in a function all of
 * this is known beforehand, and loading it took longer than all the rest of a cold start (docs/performance.md).
 *
 * Compare https://github.com/aws/aws-sdk-js-v3/blob/main/clients/client-dynamodb/src/DynamoDBClient.ts
 */
export function leanDynamoDbClient({ region, credentials, endpoint }: ClientSettings): DynamoDBClient {
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
    protocol: new AwsJson1_0Protocol({
      defaultNamespace: 'com.amazonaws.dynamodb',
      serviceTarget: 'DynamoDB_20120810',
      errorTypeRegistries,
      jsonCodec: new DynamoDBJsonCodec2(),
    }),
    requestHandler: new LazyHttpHandler(),
    maxAttempts: async () => maxAttempts,
    retryStrategy: async () => retryStrategy,
    bodyLengthChecker: (body: string | Uint8Array) => Buffer.byteLength(body),
    base64Decoder: fromBase64,
    base64Encoder: toBase64,
    utf8Decoder: fromUtf8,
    utf8Encoder: toUtf8,
    urlParser: parseUrl,
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
  // The class has no members of its own, and the configuration all that its commands read.
  return client as unknown as DynamoDBClient;
}

/** Signs each attempt anew: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html */
function sign({
  region,
  credentials,
}: Pick<ClientSettings, 'region' | 'credentials'>): FinalizeRequestMiddleware<
  ServiceInputTypes,
  ServiceOutputTypes
> {
  const signer = new SignatureV4({ service: 'dynamodb', region, credentials, sha256: Sha256 });
  return (next) => async (args) =>
    next(HttpRequest.isInstance(args.request) ? { ...args, request: await signer.sign(args.request) } : args);
}

/**
 * SHA-256, or HMAC-SHA-256 where there is a secret, in the shape that the signer wants. Bytes as the secret are first
 * asked whether they are a key, which takes four times as long as all the rest.
 */
class Sha256 implements Checksum {
  readonly #start: () => Hash | Hmac;
  #hash: Hash | Hmac;

  constructor(secret?: SourceData) {
    this.#start = () =>
      secret === undefined
        ? createHash('sha256')
        : createHmac('sha256', createSecretKey(toUint8Array(secret)));
    this.#hash = this.#start();
  }

  update(chunk: Uint8Array): void {
    this.#hash.update(chunk);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {
    this.#hash = this.#start();
  }
}

/** The SDK's HTTP handler, made at the first call: making it loads TLS, a sixth of an empty cold start. */
class LazyHttpHandler {
  readonly metadata = { handlerProtocol: 'http/1.1' };
  #handler: NodeHttpHandler | undefined;

  handle(...call: Parameters<NodeHttpHandler['handle']>): ReturnType<NodeHttpHandler['handle']> {
    this.#handler ??= new NodeHttpHandler();
    return this.#handler.handle(...call);
  }

  destroy(): void {
    this.#handler?.destroy();
  }
}
