import { timingSafeEqual } from 'node:crypto';
import type { ApiKeyStore } from './api-keys.ts';
import {
  answerApiGateway,
  answerCloudFormation,
  jsonError,
  type ManagementRequest,
  type StackDescription,
  xmlError,
} from './aws-services.ts';
import type { Gateway } from './gateway.ts';
import type { HttpResponse } from './http.ts';

/** Calls of SDKs, which one endpoint answers for every service of AWS. */

interface State {
  readonly stack: StackDescription;
  readonly gateway: Gateway;
  readonly keys: ApiKeyStore;
  readonly saveKeys: () => Promise<void>;
  /** The address of the database. */
  readonly database: { readonly endpoint: string };
  /** A page of a browser does not know the session token. */
  readonly credentials: { readonly sessionToken: string };
}

/** @param service that the call is signed for */
export async function callService(
  { stack, gateway, keys, saveKeys: save, database, credentials }: State,
  service: string,
  call: ManagementRequest,
): Promise<HttpResponse> {
  if (!isEqual(call.headers['x-amz-security-token'] ?? '', credentials.sessionToken)) {
    const message = 'The call lacks the session token of this run. Use the credentials of the service.';
    return service === 'cloudformation'
      ? xmlError('InvalidClientTokenId', message)
      : jsonError(400, 'UnrecognizedClientException', message);
  }
  const { apiId: restApiId, stage } = gateway.place;
  const flushAuthorizerCache = (): void => gateway.flushAuthorizerCache();
  switch (service) {
    case 'apigateway':
      return answerApiGateway({ keys, restApiId, stage, flushAuthorizerCache, save }, call);
    case 'cloudformation':
      return answerCloudFormation(stack, call);
    case 'dynamodb':
      return forwardToDynamoDb(database.endpoint, call);
    default:
      return jsonError(400, 'NotSupported', `The AWS service ${service} is not served locally.`);
  }
}

/** In a time that does not depend on where they differ. */
function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** A scan of a large table takes seconds. */
const answerTimeoutMs = 60_000;

/** So that tools need one endpoint. */
async function forwardToDynamoDb(
  endpoint: string,
  { headers, body }: ManagementRequest,
): Promise<HttpResponse> {
  const forwarded = ['authorization', 'content-type', 'x-amz-date', 'x-amz-target'];
  try {
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: forwarded.map((name): [string, string] => [name, headers[name] ?? '']),
      body,
      signal: AbortSignal.timeout(answerTimeoutMs),
    });
    const contentType = response.headers.get('content-type') ?? '';
    const content = Buffer.from(await response.arrayBuffer());
    return { status: response.status, headers: [['Content-Type', contentType]], body: content };
  } catch (error) {
    return jsonError(503, 'ServiceUnavailable', `DynamoDB does not answer: ${String(error)}`);
  }
}
