import type { APIGatewayProxyEvent } from 'aws-lambda';
import * as z from 'zod/mini';
import { caller } from '../access/caller.ts';
import type { Answering } from './respond.ts';
import type { Stage } from './stages.ts';

/** A request as the operations see it. */
export type ApiRequest = ReturnType<typeof parseRequest>;

export interface Parsed extends Answering {
  readonly request: ApiRequest;
}

/** The stage that reads the request from API Gateway's event. */
export function parseRequests(): Stage<Answering, Parsed> {
  return {
    before: (answering) => {
      const request = parseRequest(answering.event as APIGatewayProxyEvent);
      const { keyId, plan } = request.caller;
      answering.recorder.identity = { requestId: request.requestId, keyId, plan };
      return { ...answering, request };
    },
  };
}

/**
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html
 *
 * @throws ZodError if the event did not pass the authorizer; TypeError if it is not from API Gateway
 */
export function parseRequest({ requestContext, ...event }: APIGatewayProxyEvent) {
  const headers = withLowerCaseNames(entriesOf(event.multiValueHeaders));
  // API Gateway sets it. Only the local service uses HTTP.
  const protocol = headers.get('x-forwarded-proto')?.at(-1) === 'http' ? 'http' : 'https';
  return {
    requestId: requestContext.requestId,
    method: event.httpMethod,
    /** The path of the API's resource, such as `/pets/{petId}`. */
    resource: event.resource,
    /** Every value of each query parameter, decoded. */
    query: new Map(entriesOf(event.multiValueQueryStringParameters)),
    pathParameters: decoded(entriesOf(event.pathParameters)),
    /** Every value of each header, under its name in lower case. */
    headers,
    body: Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8'),
    caller: z.parse(caller, requestContext.authorizer),
    /** The absolute URL of the request, without its query. */
    url: `${protocol}://${requestContext.domainName}${requestContext.path}`,
  } as const;
}

function entriesOf<T>(sent: Readonly<Record<string, T | undefined>> | null): [string, T][] {
  return Object.entries(sent ?? {}) as [string, T][];
}

/** API Gateway keeps the case of header names, so one header can have two spellings. */
function withLowerCaseNames(sent: readonly [string, readonly string[]][]) {
  const headers = new Map<string, readonly string[]>();
  for (const [name, values] of sent) {
    const lowerCase = name.toLowerCase();
    headers.set(lowerCase, [...(headers.get(lowerCase) ?? []), ...values]);
  }
  return headers;
}

/**
 * A REST API does not decode path parameters, and `%37` is another spelling of `7` (RFC 3986, section 6.2.2.2). A value with
 * an invalid encoding is unchanged.
 */
function decoded(sent: readonly [string, string][]): Record<string, string> {
  return Object.fromEntries(
    sent.map(([name, value]) => {
      try {
        return [name, decodeURIComponent(value)];
      } catch {
        return [name, value];
      }
    }),
  );
}
