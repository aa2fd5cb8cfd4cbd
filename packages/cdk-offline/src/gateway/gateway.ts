import { createHash } from 'node:crypto';
import { arn } from '../template/aws.ts';
import type { HttpResponse } from '../http/response.ts';
import {
  describeFailure,
  type InvocationInput,
  type InvocationResult,
  isThrottled,
} from '../lambda/environment.ts';
import { type Authorization, Authorizer } from './authorizer.ts';
import { authorizeByPool } from './cognito-authorizer.ts';
import { compressed, decodedBody } from './content-coding.ts';
import {
  gatewayAnswer,
  type GatewayError,
  gatewayErrors,
  type GatewayResponseInput,
  mappedValue,
} from './gateway-responses.ts';
import { jsonError } from '../management/answers.ts';
import { answerMock, type MockIntegration } from './mock.ts';
import { readProxyResponse } from './proxy-response.ts';
import type { RequestRecord } from '../http/request-record.ts';
import {
  type CallerDetails,
  proxyEvent,
  requestContext,
  requestParameters,
  type Route,
} from './proxy-event.ts';
import { type GatewayRequest, lastValue, traceIdOf, values } from './request.ts';
import type { CognitoAuthorizer, LambdaAuthorizer } from './read-authorizers.ts';
import type { Integration, Method } from './read-methods.ts';
import type { ApiResource, RestApi } from './rest-api.ts';
import { validateRequest } from './request-validation.ts';
import { type Match, Router } from './router.ts';
import type { ApiKey, ApiKeyStore } from '../usage-plans/store.ts';

type Invoke = (functionId: string, input: InvocationInput, signal?: AbortSignal) => Promise<InvocationResult>;

export interface GatewayOptions {
  readonly api: RestApi;
  readonly keys: ApiKeyStore;
  readonly invoke: Invoke;
  /** Called once for each answered request. */
  readonly onRequest?: ((record: RequestRecord) => void) | undefined;
  /** Disables the time-outs of integrations, for a debugger. */
  readonly suspendTimeouts?: boolean;
}

/** A response and its part of the request record. */
interface Outcome extends Pick<RequestRecord, 'functionId' | 'authorizer' | 'errorType' | 'functionError'> {
  readonly response: HttpResponse;
}

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-execution-service-limits-table.html */
export const largestBody = 10_485_760;

/** Lambda's limit for an event. https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
const largestEvent = 6_291_456;

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-lambda-authorizer-output.html */
const longestMethodArn = 1600;

/** One stage of a REST API: route, authorizer, usage plan, request validator, function, in this order. */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #api: RestApi;
  readonly #router: Router<ApiResource>;
  readonly #authorizers = new Map<LambdaAuthorizer, Authorizer>();

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#api = options.api;
    this.#router = new Router(this.#api.resources.map((resource) => [resource.path, resource]));
  }

  get stage(): string {
    return this.#api.stage;
  }

  async handle(request: GatewayRequest): Promise<HttpResponse> {
    const body = await decodedBody(request, largestBody);
    const outcome = Buffer.isBuffer(body)
      ? await this.#answer({ ...request, body })
      : this.#reject(body, request);
    return this.#report(request, outcome);
  }

  /** Answers without reading on or running any code: more requests are under way than the service holds. */
  shed(request: GatewayRequest): HttpResponse {
    return this.#report(request, this.#reject(gatewayErrors.integrationThrottled, request));
  }

  /** Empties the authorizers' caches. */
  flushAuthorizerCache(): void {
    for (const authorizer of this.#authorizers.values()) authorizer.flush();
  }

  #report(request: GatewayRequest, { response, ...rest }: Outcome): HttpResponse {
    const { requestId, extendedRequestId, method, fullPath: path, rawQuery: query, time } = request;
    this.#options.onRequest?.({
      time,
      method,
      path,
      query,
      status: response.status,
      durationMs: performance.now() - request.startedAt,
      requestId,
      ...rest,
    });
    return {
      ...response,
      headers: [['x-amzn-RequestId', requestId], ['x-amz-apigw-id', extendedRequestId], ...response.headers],
    };
  }

  async #answer(request: GatewayRequest): Promise<Outcome> {
    const match = this.#router.find(request.path, ({ methods }) => methodOf(methods, request) !== undefined);
    const method = match && methodOf(match.target.methods, request);
    if (match === undefined || method === undefined) {
      const functionError = `no route ${request.method} ${request.path}`;
      return { ...this.#reject(noRoute(request), request), functionError };
    }
    const route = toRoute(match);
    const functionId =
      method.integration.kind === 'function' ? method.integration.function.logicalId : undefined;
    return { functionId, ...(await this.#call(method, request, route)) };
  }

  async #call(method: Method, request: GatewayRequest, route: Route): Promise<Outcome> {
    if (method.integration.kind === 'unsupported')
      return this.#unsupported(method.integration.reason, request, route);
    let caller: CallerDetails = {};
    let usageIdentifierKey: string | undefined;
    if (method.authorizer !== undefined) {
      const authorization = await this.#authorize(method, method.authorizer, request, route);
      const { identity } = authorization;
      if (identity !== undefined) caller = { authorizer: identity.authorizer };
      if (!authorization.granted) {
        const { error, functionError } = authorization;
        return { ...this.#reject(error, request, route, caller), functionError };
      }
      const { latency } = authorization;
      caller = {
        authorizer: {
          ...authorization.identity.authorizer,
          ...(latency !== undefined && { integrationLatency: latency }),
        },
      };
      usageIdentifierKey = authorization.identity.usageIdentifierKey;
    }

    if (method.apiKeyRequired) {
      const metered = this.#meter(usageIdentifierKey, request);
      if ('error' in metered) return this.#reject(metered.error, request, route, caller);
      caller = { ...caller, apiKey: metered.key };
    }
    const invalid =
      method.validation &&
      validateRequest(method.validation, request.body.toString(), this.#mappingInput(request, route, caller));
    if (invalid !== undefined) return this.#reject(invalid, request, route, caller);
    const outcome =
      method.integration.kind === 'mock'
        ? this.#mock(method.integration.mock, request, route, caller)
        : await this.#integrate(method.integration, request, route, caller);
    if (outcome.errorType !== undefined) return outcome;
    const response = await compressed(outcome.response, request, this.#api.minimumCompressionSize);
    return { ...outcome, response };
  }

  #authorize(
    { scopes }: Method,
    authorizer: LambdaAuthorizer | CognitoAuthorizer,
    request: GatewayRequest,
    route: Route,
  ): Promise<Authorization> | Authorization {
    const { id, stage } = this.#api;
    const path = request.path.replace(/^\//, '');
    const methodArn = arn('execute-api', `${id}/${stage}/${request.method}/${path}`);
    if (Buffer.byteLength(methodArn) > longestMethodArn)
      return { granted: false, error: gatewayErrors.uriTooLong };
    const mapping = this.#mappingInput(request, route);
    if (authorizer.type === 'COGNITO_USER_POOLS') {
      const [source = ''] = authorizer.identitySources;
      return authorizeByPool(authorizer, scopes, mappedValue(source, mapping), request.time);
    }
    const found =
      this.#authorizers.get(authorizer) ??
      new Authorizer(authorizer, (input) => this.#options.invoke(authorizer.function.logicalId, input));
    this.#authorizers.set(authorizer, found);
    return found.authorize({
      methodArn,
      traceId: traceIdOf(request),
      valueOf: (source) => mappedValue(source, mapping),
      parameters: () => requestParameters(request, this.#api, route, mapping.context),
    });
  }

  #meter(
    usageIdentifierKey: string | undefined,
    request: GatewayRequest,
  ): { readonly key: ApiKey } | { readonly error: GatewayError } {
    const { id: apiId, stage, apiKeySource } = this.#api;
    const value =
      apiKeySource === 'AUTHORIZER' ? usageIdentifierKey : lastValue(request.headers, 'x-api-key');
    const { outcome, key } = this.#options.keys.meter(value, { apiId, stage }, request.time);
    if (outcome === 'throttled') return { error: gatewayErrors.throttled };
    if (outcome === 'exhausted') return { error: gatewayErrors.quotaExceeded };
    return outcome === 'admitted' && key !== undefined ? { key } : { error: gatewayErrors.invalidApiKey };
  }

  async #integrate(
    integration: Extract<Integration, { kind: 'function' }>,
    request: GatewayRequest,
    route: Route,
    caller: CallerDetails,
  ): Promise<Outcome> {
    const reject = (error: GatewayError) => this.#reject(error, request, route, caller);
    const context = requestContext(request, this.#api, route, caller);
    const event = JSON.stringify(proxyEvent(request, this.#api, route, context));
    if (Buffer.byteLength(event) > largestEvent) return reject(gatewayErrors.eventTooLarge);

    const abandoned = new AbortController();
    const { promise: timeout, resolve } = Promise.withResolvers<undefined>();
    const timer =
      this.#options.suspendTimeouts === true
        ? undefined
        : setTimeout(resolve, integration.timeoutMs, undefined);
    const invoked = this.#options.invoke(
      integration.function.logicalId,
      { event, traceId: traceIdOf(request) },
      abandoned.signal,
    );
    const result = await Promise.race([invoked, timeout]);
    clearTimeout(timer);
    if (result === undefined) {
      abandoned.abort();
      return reject(gatewayErrors.integrationTimeout);
    }
    if (!result.ok) {
      const error = isThrottled(result)
        ? gatewayErrors.integrationThrottled
        : gatewayErrors.integrationFailed;
      return { ...reject(error), functionError: describeFailure(result) };
    }
    const accept = lastValue(request.headers, 'accept');
    const response = readProxyResponse(result.payload, accept, this.#api.binaryMediaTypes);
    if ('error' in response) {
      return { ...reject(response.error), functionError: response.problem };
    }
    const traceId = lastValue(request.headers, 'x-amzn-trace-id') ?? '';
    return {
      response: { ...response, headers: [['X-Amzn-Trace-Id', traceId], ...response.headers] },
      authorizer: caller.authorizer,
    };
  }

  #mock(mock: MockIntegration, request: GatewayRequest, route: Route, caller: CallerDetails): Outcome {
    const answer = answerMock(mock, request.body.toString(), this.#mappingInput(request, route, caller));
    return 'error' in answer ? this.#reject(answer.error, request, route, caller) : { response: answer };
  }

  #reject(error: GatewayError, request: GatewayRequest, route?: Route, caller: CallerDetails = {}): Outcome {
    const input = this.#mappingInput(request, route, caller);
    const answer = gatewayAnswer(error, this.#api.gatewayResponses, input);
    return {
      response: { ...answer, body: Buffer.from(answer.body) },
      errorType: error.type,
      authorizer: caller.authorizer,
    };
  }

  /** The route exists, and cdk-offline cannot serve it. With the CORS headers of errors, or a browser hides the reason. */
  #unsupported(reason: string, request: GatewayRequest, route: Route): Outcome {
    const { response } = this.#reject(gatewayErrors.configuration, request, route);
    const answer = jsonError(501, 'NotSupportedByCdkOffline', reason);
    const own = new Set(answer.headers.map(([name]) => name.toLowerCase()));
    const ofErrors = response.headers.filter(([name]) => !own.has(name.toLowerCase()));
    return {
      response: { ...answer, headers: [...answer.headers, ...ofErrors] },
      errorType: 'NOT_SUPPORTED_BY_CDK_OFFLINE',
      functionError: reason,
    };
  }

  #mappingInput(
    request: GatewayRequest,
    route: Route | undefined,
    caller: CallerDetails = {},
  ): GatewayResponseInput {
    return {
      context: requestContext(request, this.#api, route, caller),
      stageVariables: this.#api.stageVariables,
      header: (name) => lastValue(request.headers, name),
      query: (name) => request.query.findLast(([own]) => own === name)?.[1],
      path: (name) => route?.pathParameters[name],
    };
  }
}

function methodOf(methods: ReadonlyMap<string, Method>, { method }: GatewayRequest): Method | undefined {
  return methods.get(method) ?? methods.get('ANY');
}

function toRoute({ target, pathParameters }: Match<ApiResource>): Route {
  return { resourceId: target.id, resourcePath: target.path, pathParameters };
}

/**
 * API Gateway expects a signed request for an unknown route: without an Authorization header the signature is missing,
 * with another kind of header it is incomplete.
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
