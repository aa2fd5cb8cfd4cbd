import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { ApiKeyStore } from './api-keys.ts';
import { describeFailure, type Invoke } from './functions.ts';
import {
  type GatewayRequest,
  type IncomingRequest,
  type Known,
  lastValue,
  type Place,
  proxyEvent,
  requestContext,
  toGatewayRequest,
} from './gateway-request.ts';
import {
  compressed,
  decodedBody,
  gatewayAnswer,
  type GatewayError,
  gatewayErrors,
  gatewayResponsesOf,
  problemOf,
  readProxyAnswer,
} from './gateway-response.ts';
import type { HttpResponse } from './http.ts';
import { accountId, region, type Stack, TemplateError } from './template.ts';

/** One answered request. */
export interface RequestRecord {
  /** When it arrived, in milliseconds since the Unix epoch. */
  readonly time: number;
  readonly method: string;
  /** As sent, with the stage, without the query. */
  readonly path: string;
  /** As sent, without the question mark; may be empty. */
  readonly query: string;
  readonly status: number;
  readonly durationMs: number;
  /** The value of the answer's `x-amzn-RequestId`. */
  readonly requestId: string;
  /** The authorizer's context with `principalId`. Undefined when it was not invoked or failed. */
  readonly authorizer?: Known['authorizer'];
  /** The type of the gateway response, such as `UNAUTHORIZED`. Undefined when a function answered. */
  readonly errorType?: string | undefined;
  /** Type and message of the error of a function or authorizer, or what does not exist. Undefined without one. */
  readonly functionError?: string | undefined;
}

export interface GatewayOptions {
  readonly stack: Stack;
  readonly keys: ApiKeyStore;
  readonly invoke: Invoke;
  /** Called once for each answered request. */
  readonly onRequest?: ((record: RequestRecord) => void) | undefined;
  /** Disables the time-out of the integrations, for a debugger. */
  readonly suspendTimeouts?: boolean;
}

/** A response and its part of the request record. */
interface Outcome extends Pick<RequestRecord, 'authorizer' | 'errorType' | 'functionError'> {
  readonly response: HttpResponse;
}

/** What the authorizer has said of a key. */
interface Authorization extends Pick<Known, 'authorizer'> {
  /** Undefined when the key is let in. */
  readonly error?: GatewayError | undefined;
  readonly usageIdentifierKey?: string | undefined;
  readonly functionError?: string;
}

/** Bytes. Lambda's limit for an event. https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
const largestEvent = 6_291_456;

/** Bytes. https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-lambda-authorizer-output.html */
const longestMethodArn = 1600;

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-execution-service-limits-table.html */
const integrationTimeoutMs = 29_000;

const mostCachedAnswers = 10_000;

/** The stage of the REST API: route, authorizer and its cache, usage plan, function, in this order. */
export class Gateway {
  readonly place: Place;
  readonly #options: GatewayOptions;
  readonly #routes;
  readonly #responses;
  readonly #authorizer;
  readonly #minimumCompressionSize: number;
  readonly #cache = new Map<string, { readonly authorization: Authorization; readonly expiresAt: number }>();

  /** @throws TemplateError */
  constructor(options: GatewayOptions) {
    const { stack } = options;
    this.#options = options;
    const api = stack.only('AWS::ApiGateway::RestApi');
    this.place = { apiId: api.id, stage: stack.only('AWS::ApiGateway::Stage').properties.StageName };
    this.#minimumCompressionSize = api.properties.MinimumCompressionSize;
    const { properties: authorizer } = stack.only('AWS::ApiGateway::Authorizer');
    this.#authorizer = {
      functionArn: functionIn(authorizer.AuthorizerUri),
      // API Gateway matches the whole text.
      validation: new RegExp(`^(?:${authorizer.IdentityValidationExpression})$`),
      cacheMs: authorizer.AuthorizerResultTtlInSeconds * 1000,
    };
    this.#responses = gatewayResponsesOf(stack);
    this.#routes = routesOf(stack);
  }

  async handle(incoming: IncomingRequest): Promise<HttpResponse> {
    const request = toGatewayRequest(incoming, this.place.stage);
    const body = await decodedBody(request);
    return this.#report(
      request,
      Buffer.isBuffer(body) ? await this.#answer({ ...request, body }) : this.#reject(body, { request }),
    );
  }

  /** Answers without reading on or running any code: more requests are under way than the service holds. */
  shed(incoming: IncomingRequest): HttpResponse {
    const request = toGatewayRequest(incoming, this.place.stage);
    return this.#report(request, this.#reject(gatewayErrors.integrationFailed, { request }));
  }

  flushAuthorizerCache(): void {
    this.#cache.clear();
  }

  #report(request: GatewayRequest, { response, ...rest }: Outcome): HttpResponse {
    const { requestId, method, fullPath: path, rawQuery: query, time } = request;
    const { status, headers, body } = response;
    const durationMs = Date.now() - time;
    this.#options.onRequest?.({ time, method, path, query, status, durationMs, requestId, ...rest });
    const ids = [
      ['x-amzn-RequestId', requestId],
      ['x-amz-apigw-id', `${randomBytes(11).toString('base64url')}=`],
    ] as const;
    return { status, headers: [...ids, ...headers], body };
  }

  async #answer(request: GatewayRequest): Promise<Outcome> {
    const route = this.#route(request);
    if (route === undefined)
      return this.#reject(
        gatewayErrors.missingRoute,
        { request },
        `no route ${request.method} ${request.path}`,
      );
    const { error, functionError, authorizer, usageIdentifierKey } = await this.#authorize(request);
    const known = { request, route, authorizer };
    if (error !== undefined) return this.#reject(error, known, functionError);
    const apiKey = this.#options.keys.meter(usageIdentifierKey, request.time);
    if (typeof apiKey === 'string') return this.#reject(gatewayErrors[apiKey], known);
    return this.#integrate({ ...known, apiKey });
  }

  /** Slashes at the end do not count. */
  #route({ path, method: sent }: GatewayRequest): Known['route'] {
    for (const { pattern, method, ...route } of this.#routes) {
      const found = pattern.exec(path.replace(/\/+$/, '') || '/');
      // As sent: API Gateway leaves decoding to the function.
      const pathParameters = found?.groups === undefined ? null : { ...found.groups };
      if (found !== null && [sent, 'ANY'].includes(method)) return { ...route, pathParameters };
    }
    return undefined;
  }

  async #authorize({ method, path, headers, traceId }: GatewayRequest): Promise<Authorization> {
    const { apiId, stage } = this.place;
    const methodArn = `arn:aws:execute-api:${region}:${accountId}:${apiId}/${stage}/${method}${path}`;
    if (Buffer.byteLength(methodArn) > longestMethodArn) return { error: gatewayErrors.uriTooLong };
    const token = lastValue(headers, 'authorization') ?? '';
    const { validation, functionArn, cacheMs } = this.#authorizer;
    if (!validation.test(token)) return { error: gatewayErrors.unauthorized };
    const cached = this.#cache.get(token);
    if (cached !== undefined && cached.expiresAt > Date.now()) return cached.authorization;
    const event = JSON.stringify({ type: 'TOKEN', methodArn, authorizationToken: token });
    const result = await this.#options.invoke(functionArn, { event, traceId });
    if (!result.ok) {
      if (result.errorMessage === 'Unauthorized') return { error: gatewayErrors.unauthorized };
      return { error: gatewayErrors.authorizerFailed, functionError: describeFailure(result) };
    }
    const parsed = authorizerAnswer.safeParse(JSON.parse(result.payload));
    if (!parsed.success) {
      const functionError = `Malformed authorizer response: ${problemOf(parsed.error)}`;
      return { error: gatewayErrors.authorizerMalformed, functionError };
    }
    const { principalId, usageIdentifierKey, context, policyDocument } = parsed.data;
    const [{ Effect }] = policyDocument.Statement;
    const authorization = {
      error: Effect === 'Deny' ? gatewayErrors.accessDenied : undefined,
      usageIdentifierKey,
      authorizer: { ...context, ...(principalId !== undefined && { principalId }) },
    };
    if (this.#cache.size >= mostCachedAnswers) this.#cache.clear();
    this.#cache.set(token, { authorization, expiresAt: Date.now() + cacheMs });
    return authorization;
  }

  async #integrate(known: Required<Known>): Promise<Outcome> {
    const { request, route, authorizer } = known;
    const event = JSON.stringify(proxyEvent(known, requestContext(known, this.place)));
    if (Buffer.byteLength(event) > largestEvent) return this.#reject(gatewayErrors.eventTooLarge, known);

    const abandoned = new AbortController();
    const { promise: timeout, resolve } = Promise.withResolvers<undefined>();
    const isTimed = this.#options.suspendTimeouts !== true;
    const timer = isTimed ? setTimeout(resolve, integrationTimeoutMs, undefined) : undefined;
    const input = { event, traceId: request.traceId };
    const invoked = this.#options.invoke(route.functionArn, input, abandoned.signal);
    const result = await Promise.race([invoked, timeout]);
    clearTimeout(timer);
    if (result === undefined) {
      abandoned.abort();
      return this.#reject(gatewayErrors.integrationTimeout, known);
    }
    if (!result.ok) return this.#reject(gatewayErrors.integrationFailed, known, describeFailure(result));
    const answer = readProxyAnswer(result.payload);
    if (typeof answer === 'string') return this.#reject(gatewayErrors.malformedAnswer, known, answer);
    const headers = [['X-Amzn-Trace-Id', request.traceId] as const, ...answer.headers];
    const response = await compressed({ ...answer, headers }, request, this.#minimumCompressionSize);
    return { response, authorizer };
  }

  #reject(error: GatewayError, known: Known, functionError?: string): Outcome {
    const context = requestContext(known, this.place);
    return {
      response: gatewayAnswer(error, this.#responses, known.request, context),
      errorType: error.type,
      authorizer: known.authorizer,
      functionError,
    };
  }
}

/** The function in the URI of an integration or authorizer, with its alias. */
function functionIn(uri: string): string {
  const arn = /:lambda:path\/[\d-]+\/functions\/(.+)\/invocations$/.exec(uri)?.[1];
  if (arn === undefined) throw new TemplateError(`${uri} is not the URI of a Lambda function.`);
  return arn;
}

/**
 * In the order in which API Gateway tries them: segment by segment, fixed text comes before a parameter, and that before a greedy
 * parameter, and a method before ANY.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-set-up-simple-proxy.html
 */
function routesOf(stack: Stack) {
  const parts = new Map(
    stack.resources('AWS::ApiGateway::Resource').map(({ id, properties }) => [id, properties]),
  );
  const pathOf = (id: string): string => {
    const part = parts.get(id);
    return part === undefined ? '' : `${pathOf(part.ParentId)}/${part.PathPart}`;
  };
  const methods = stack.resources('AWS::ApiGateway::Method').map(({ properties }) => properties);
  const routes = methods.map(({ ResourceId, HttpMethod: method, Integration }) => {
    const resource = pathOf(ResourceId) || '/';
    const pattern = resource.replaceAll(
      /\{(\w+)(\+?)\}/g,
      (_, name, greedy) => `(?<${name}>${greedy === '' ? '[^/]+' : '.+'})`,
    );
    return {
      resource,
      method,
      pattern: new RegExp(`^${pattern}$`),
      functionArn: functionIn(Integration.Uri),
    };
  });
  const rank = ({ resource, method }: (typeof routes)[number]) => {
    const segments = resource
      .split('/')
      .map((each) => (each.endsWith('+}') ? 2 : each.startsWith('{') ? 1 : 0));
    return [...segments, method === 'ANY' ? 1 : 0].join('');
  };
  return routes.toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1));
}

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-lambda-authorizer-output.html */
const authorizerAnswer = z.object({
  // Without one, AWS lets the request pass (recorded by ministack, 2026-09-20).
  principalId: z.string().optional(),
  policyDocument: z.object({
    Statement: z.tuple([
      z.strictObject({
        Effect: z.enum(['Allow', 'Deny']),
        Action: z.literal('execute-api:Invoke'),
        // API Gateway evaluates a cached policy again for each request. This makes the same decision for all of them.
        Resource: z.string().regex(/^(?:\*|[^/]+\/[^/]+\/\*\/\*)$/, 'must be the whole stage, as ARN/*/*'),
      }),
    ]),
  }),
  context: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String).nullable())
    .optional(),
  usageIdentifierKey: z.string().optional(),
});
