import { region } from '../template/aws.ts';
import type { DatabaseAccess } from '../dynamodb/database.ts';
import type { HttpResponse } from '../http/response.ts';
import { requestLocally } from '../http/loopback.ts';
import { jsonError, type ManagementRequest } from './answers.ts';

/** RFC 9110, section 7.6.1, and headers that are set again for each connection. */
const hopByHop = new Set(['connection', 'content-length', 'date', 'host', 'keep-alive', 'transfer-encoding']);

/** Databases permit the origin of a request to read the answer. */
const isDropped = (name: string): boolean => name === 'expect' || name === 'origin' || hopByHop.has(name);

/** A scan of a large table takes seconds. */
const answerTimeoutMs = 60_000;

/** Forwards a call with the access key of the service, so that tools need one endpoint and no key. */
export async function forwardToDynamoDb(
  { endpoint, credentials }: DatabaseAccess,
  { method, headers, body }: ManagementRequest,
): Promise<HttpResponse> {
  const sent = Object.entries(headers).filter(([name]) => !isDropped(name));
  try {
    const response = await requestLocally(endpoint, answerTimeoutMs, {
      method,
      // The client's checksum is that of the bytes as the database sends them.
      headers: {
        ...Object.fromEntries(sent),
        'accept-encoding': 'identity',
        authorization: withScope(headers['authorization'] ?? '', credentials.accessKeyId),
      },
      body,
    });
    return { ...response, headers: response.headers.filter(([name]) => !hopByHop.has(name)) };
  } catch (error) {
    return jsonError(503, 'ServiceUnavailable', `DynamoDB does not answer: ${String(error)}`);
  }
}

/** DynamoDB Local has a database for each access key and Region, and does not verify the signature. */
function withScope(authorization: string, accessKeyId: string): string {
  return authorization.replace(/(?<=Credential=)[^/]+\/(\d+)\/[^/]+/, `${accessKeyId}/$1/${region}`);
}
