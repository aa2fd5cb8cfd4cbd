import { timingSafeEqual } from 'node:crypto';
import { Agent, request as send } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { ApiKeyStore } from './api-keys.ts';
import {
  answerApiGateway,
  answerCloudFormation,
  jsonError,
  type ManagementRequest,
  type StackDescription,
  xmlError,
} from './aws-services.ts';
import type { DatabaseAccess } from './database.ts';
import type { Gateway } from './gateway.ts';
import type { HttpResponse } from './http.ts';
import { region } from './template.ts';

/** Calls of SDKs, which one endpoint answers for every service of AWS. */

interface State {
  readonly stack: StackDescription;
  readonly gateway: Gateway;
  readonly keys: ApiKeyStore;
  readonly saveKeys: () => Promise<void>;
  readonly database: DatabaseAccess;
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
      return forwardToDynamoDb(database, call);
    default:
      return jsonError(400, 'NotSupported', `The AWS service ${service} is not served locally.`);
  }
}

/** In a time that does not depend on where they differ. */
function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The global agent goes through the proxy of HTTP_PROXY, also to this machine. */
const direct = new Agent({ keepAlive: true });

/** A scan of a large table takes seconds. */
const answerTimeoutMs = 60_000;

/** Forwards a call with the access key of the database, so that tools need one endpoint and no key. */
async function forwardToDynamoDb(
  { endpoint, credentials }: DatabaseAccess,
  { method, headers, body }: ManagementRequest,
): Promise<HttpResponse> {
  const kept = ['content-type', 'x-amz-target', 'x-amz-date'].flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  // DynamoDB Local has a database for each access key and Region, and does not verify the signature.
  const authorization = (headers['authorization'] ?? '').replace(
    /(?<=Credential=)[^/]+\/(\d+)\/[^/]+/,
    `${credentials.accessKeyId}/$1/${region}`,
  );
  const { promise, resolve, reject } = Promise.withResolvers<HttpResponse>();
  const options = {
    agent: direct,
    method,
    headers: { ...Object.fromEntries(kept), authorization },
    signal: AbortSignal.timeout(answerTimeoutMs),
  };
  const sent = send(endpoint, options, (response) => {
    const { statusCode: status = 500, headers: answered } = response;
    const names = ['content-type', 'x-amz-crc32', 'x-amzn-requestid'];
    const returned = names.flatMap((name) =>
      answered[name] === undefined ? [] : [[name, String(answered[name])] as const],
    );
    buffer(response).then((content) => resolve({ status, headers: returned, body: content }), reject);
  });
  sent.on('error', reject);
  sent.end(body);
  return promise.catch((error: unknown) =>
    jsonError(503, 'ServiceUnavailable', `DynamoDB does not answer: ${String(error)}`),
  );
}
