import { createHash } from 'node:crypto';
import type { ApiKey, ApiKeys } from '../api-keys.ts';
import type { InvocationResult } from '../lambda/environment.ts';
import type { FunctionDefinition } from '../lambda/definition.ts';
import { arn } from '../template/stack.ts';
import { type Authorization, AuthorizerGate } from './authorize.ts';
import { gatewayAnswer, type GatewayError, gatewayErrors } from './gateway-responses.ts';
import { type HttpAnswer, readProxyAnswer } from './proxy-answer.ts';
import { type CallerDetails, proxyEvent, requestContext, type Route } from './proxy-event.ts';
import { type GatewayRequest, lastValue, values } from './request.ts';
import type { ApiResource, Method, RestApi, TokenAuthorizer } from './rest-api.ts';
import { type Match, Router } from './router.ts';

export type Invoke = (
  definition: FunctionDefinition,
  event: string,
  signal?: AbortSignal,
) => Promise<InvocationResult>;

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-execution-service-limits-table.html */
export const largestBody = 10_485_760;

/** What Lambda takes as an event. https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
const largestEvent = 6_291_456;

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-lambda-authorizer-output.html */
const longestMethodArn = 1600;

/** One stage of a REST API: routing, then the authorizer, then the usage plan, then the function. */
export class Gateway {
  readonly #api: RestApi;
  readonly #keys: ApiKeys;
  readonly #invoke: Invoke;
  readonly #router = new Router<ApiResource>();
  readonly #gates = new Map<TokenAuthorizer, AuthorizerGate>();

  constructor(api: RestApi, keys: ApiKeys, invoke: Invoke) {
    this.#api = api;
    this.#keys = keys;
    this.#invoke = invoke;
    for (const resource of api.resources) this.#router.add(resource.path, resource);
  }

  async handle(request: GatewayRequest): Promise<HttpAnswer> {
    const answer = await this.#answer(request);
    return {
      ...answer,
      headers: [
        ['x-amzn-RequestId', request.requestId],
        ['x-amz-apigw-id', request.extendedRequestId],
        ...answer.headers,
      ],
    };
  }

  /** Makes the authorizers be asked anew about every token. */
  flushAuthorizerCache(): void {
    for (const gate of this.#gates.values()) gate.flush();
  }

  async #answer(request: GatewayRequest): Promise<HttpAnswer> {
    if (request.body.length > largestBody) return this.#refuse(gatewayErrors.requestTooLarge, request);
    const match = this.#router.find(request.path, ({ methods }) => methodOf(methods, request) !== undefined);
    const method = match && methodOf(match.target.methods, request);
    if (match === undefined || method === undefined) return this.#refuse(noRoute(request), request);
    const route = toRoute(match);

    let caller: CallerDetails = {};
    let usageIdentifierKey: string | undefined;
    if (method.authorizer !== undefined) {
      const authorization = await this.#authorize(method.authorizer, request);
      const { identity } = authorization;
      if (identity !== undefined) caller = { authorizer: identity.authorizer };
      if (!authorization.granted) return this.#refuse(authorization.error, request, route, caller);
      caller = {
        authorizer: { ...authorization.identity.authorizer, integrationLatency: authorization.latency },
      };
      usageIdentifierKey = authorization.identity.usageIdentifierKey;
    }

    if (method.apiKeyRequired) {
      const metered = this.#meter(usageIdentifierKey, request);
      if ('error' in metered) return this.#refuse(metered.error, request, route, caller);
      caller = { ...caller, apiKey: metered.key };
    }
    return this.#integrate(method, request, route, caller);
  }

  #authorize(authorizer: TokenAuthorizer, request: GatewayRequest): Promise<Authorization> | Authorization {
    const { id, stage } = this.#api;
    const path = request.path.replace(/^\//, '');
    const methodArn = arn('execute-api', `${id}/${stage}/${request.method}/${path}`);
    if (Buffer.byteLength(methodArn) > longestMethodArn)
      return { granted: false, error: gatewayErrors.uriTooLong };
    const gate =
      this.#gates.get(authorizer) ??
      new AuthorizerGate(authorizer, (event) => this.#invoke(authorizer.function, event));
    this.#gates.set(authorizer, gate);
    return gate.authorize(lastValue(request.headers, authorizer.header), methodArn);
  }

  #meter(
    usageIdentifierKey: string | undefined,
    request: GatewayRequest,
  ): { readonly key: ApiKey } | { readonly error: GatewayError } {
    const { id: apiId, stage, apiKeySource } = this.#api;
    const value =
      apiKeySource === 'AUTHORIZER' ? usageIdentifierKey : lastValue(request.headers, 'x-api-key');
    const { outcome, key } = this.#keys.meter(value, { apiId, stage }, request.time);
    if (outcome === 'throttled') return { error: gatewayErrors.throttled };
    if (outcome === 'exhausted') return { error: gatewayErrors.quotaExceeded };
    return outcome === 'admitted' && key !== undefined ? { key } : { error: gatewayErrors.invalidApiKey };
  }

  async #integrate(
    { integration }: Method,
    request: GatewayRequest,
    route: Route,
    caller: CallerDetails,
  ): Promise<HttpAnswer> {
    const refuse = (error: GatewayError) => this.#refuse(error, request, route, caller);
    if (integration === undefined) return refuse(gatewayErrors.configuration);
    const context = requestContext(request, this.#api, route, caller);
    const event = JSON.stringify(proxyEvent(request, this.#api, route, context));
    if (Buffer.byteLength(event) > largestEvent) return refuse(gatewayErrors.eventTooLarge);

    const givenUp = new AbortController();
    const { promise: timeout, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(resolve, integration.timeoutMs, undefined);
    const result = await Promise.race([this.#invoke(integration.function, event, givenUp.signal), timeout]);
    clearTimeout(timer);
    if (result === undefined) {
      givenUp.abort();
      return refuse(gatewayErrors.integrationTimeout);
    }
    if (!result.ok) {
      const throttled = result.failure.errorType === 'TooManyRequestsException';
      return refuse(throttled ? gatewayErrors.configuration : gatewayErrors.integrationFailed);
    }
    const accept = lastValue(request.headers, 'accept');
    const answer = readProxyAnswer(result.payload, accept, this.#api.binaryMediaTypes);
    if (answer === undefined) return refuse(gatewayErrors.integrationFailed);
    const traceId = lastValue(request.headers, 'x-amzn-trace-id') ?? '';
    return { ...answer, headers: [['X-Amzn-Trace-Id', traceId], ...answer.headers] };
  }

  #refuse(
    error: GatewayError,
    request: GatewayRequest,
    route?: Route,
    caller: CallerDetails = {},
  ): HttpAnswer {
    const answer = gatewayAnswer(error, this.#api.gatewayResponses, {
      context: requestContext(request, this.#api, route, caller),
      stageVariables: this.#api.stageVariables,
      header: (name) => lastValue(request.headers, name),
      query: (name) => request.query.findLast(([own]) => own === name)?.[1],
      path: (name) => route?.pathParameters[name],
    });
    return { ...answer, body: Buffer.from(answer.body) };
  }
}

function methodOf(methods: ReadonlyMap<string, Method>, { method }: GatewayRequest): Method | undefined {
  return methods.get(method) ?? methods.get('ANY');
}

function toRoute({ target, pathParameters }: Match<ApiResource>): Route {
  return { resourceId: target.id, resourcePath: target.path, pathParameters };
}

/**
 * A route that does not exist is taken for a call that has to be signed: without an Authorization header the
 * signature is missing, and with any other kind of header it is incomplete.
 */
function noRoute({ headers }: GatewayRequest): GatewayError {
  const authorization = values(headers, 'authorization').at(-1);
  if (authorization === undefined) return gatewayErrors.missingRoute;
  const hash = createHash('sha256').update(authorization).digest('base64');
  return {
    type: 'DEFAULT_4XX',
    status: 403,
    message: `Invalid key=value pair (missing equal-sign) in Authorization header (hashed with SHA-256 and encoded with Base64): '${hash}'.`,
    errorType: 'IncompleteSignatureException',
  };
}
