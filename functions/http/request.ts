import type { MiddlewareObj } from '@middy/core';
import * as z from 'zod/mini';
import { caller } from '../access/caller.ts';
import type { Exchange } from './telemetry.ts';

const strings = z.nullish(z.record(z.string(), z.string()));
const lists = z.nullish(z.record(z.string(), z.array(z.string())));

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html */
const proxyEvent = z.object({
  resource: z.string(),
  multiValueHeaders: lists,
  multiValueQueryStringParameters: lists,
  pathParameters: strings,
  body: z.nullish(z.string()),
  isBase64Encoded: z._default(z.boolean(), false),
  requestContext: z.object({
    requestId: z.string(),
    domainName: z.string(),
    path: z.string(),
    authorizer: caller,
  }),
});

/** A request as the operations see it. */
export type ApiRequest = ReturnType<typeof parseRequest>;

export interface Parsed extends Exchange {
  readonly request: ApiRequest;
}

/** A middleware that reads the request from API Gateway's event. */
export function parseRequests(): MiddlewareObj<Parsed, unknown, unknown> {
  return {
    before: (step) => {
      const request = parseRequest(step.event.event);
      const { keyId, plan } = request.caller;
      step.event.recorder.identity = { requestId: request.requestId, keyId, plan };
      step.event = { ...step.event, request };
    },
  };
}

/** @throws ZodError if the event is not from API Gateway, or did not pass the authorizer */
export function parseRequest(event: unknown) {
  const { requestContext, ...parsed } = z.parse(proxyEvent, event);
  const headers = withLowerCaseNames(parsed.multiValueHeaders ?? {});
  // Set by API Gateway. Only the local service uses HTTP.
  const protocol = headers.get('x-forwarded-proto')?.at(-1) === 'http' ? 'http' : 'https';
  return {
    requestId: requestContext.requestId,
    /** The path of the API's resource, such as `/pets/{petId}`. */
    resource: parsed.resource,
    /** Every value of each query parameter, decoded. */
    query: new Map(Object.entries(parsed.multiValueQueryStringParameters ?? {})),
    pathParameters: decoded(parsed.pathParameters ?? {}),
    /** Every value of each header, under its name in lower case. */
    headers,
    body: Buffer.from(parsed.body ?? '', parsed.isBase64Encoded ? 'base64' : 'utf8'),
    caller: requestContext.authorizer,
    /** The absolute URL of the request, without its query. */
    url: `${protocol}://${requestContext.domainName}${requestContext.path}`,
  } as const;
}

/** API Gateway keeps the case of header names, so one header can have two spellings. */
function withLowerCaseNames(sent: Readonly<Record<string, readonly string[]>>) {
  const headers = new Map<string, readonly string[]>();
  for (const [name, values] of Object.entries(sent)) {
    const lowerCase = name.toLowerCase();
    headers.set(lowerCase, [...(headers.get(lowerCase) ?? []), ...values]);
  }
  return headers;
}

/**
 * A REST API does not decode path parameters, and `%37` is another spelling of `7` (RFC 3986, section 6.2.2.2). A value with
 * an invalid encoding is unchanged.
 */
function decoded(sent: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(sent).map(([name, value]) => {
      try {
        return [name, decodeURIComponent(value)];
      } catch {
        return [name, value];
      }
    }),
  );
}
