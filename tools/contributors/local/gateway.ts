import { z } from 'zod';
import type { ApiKeyStore } from './api-keys.ts';
import { describeFailure, type Invoke, isThrottled } from './functions.ts';
import {
  type Caller,
  type GatewayRequest,
  lastValue,
  type Place,
  proxyEvent,
  requestContext,
  type Route,
  traceIdOf,
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
import { accountId, region, type Resource, type Stack, TemplateError } from './template.ts';

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
  readonly authorizer?: Caller['authorizer'] | undefined;
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
  /** Disables the time-outs of integrations, for a debugger. */
  readonly suspendTimeouts?: boolean;
}

/** A response and its part of the request record. */
interface Outcome extends Pick<RequestRecord, 'authorizer' | 'errorType' | 'functionError'> {
  readonly response: HttpResponse;
}

type Method = Resource<'AWS::ApiGateway::Method'>['properties'];
interface Path {
  readonly resourceId: string;
  readonly resourcePath: string;
  readonly segments: readonly string[];
  /** By HTTP method, or `ANY`. */
  readonly methods: ReadonlyMap<string, Method>;
}

/** Bytes. Lambda's limit for an event. https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
const largestEvent = 6_291_456;

/** Bytes. https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-lambda-authorizer-output.html */
const longestMethodArn = 1600;

const mostCachedAnswers = 10_000;

/** The stage of the REST API: route, authorizer and its cache, usage plan, function, in this order. */
export class Gateway {
  readonly place: Place;
  readonly #options: GatewayOptions;
  readonly #paths: readonly Path[];
  readonly #responses;
  readonly #authorizer;
  readonly #minimumCompressionSize: number;
  readonly #cache = new Map<string, { readonly answer: AuthorizerAnswer; readonly expiresAt: number }>();

  /** @throws TemplateError */
  constructor(options: GatewayOptions) {
    const { stack } = options;
    this.#options = options;
    const api = stack.only('AWS::ApiGateway::RestApi');
    const { StageName: stage, DeploymentId: deploymentId } = stack.only('AWS::ApiGateway::Stage').properties;
    this.place = { apiId: api.id, stage, deploymentId };
    this.#minimumCompressionSize = api.properties.MinimumCompressionSize;
    const { properties: authorizer } = stack.only('AWS::ApiGateway::Authorizer');
    this.#authorizer = {
      functionArn: functionIn(authorizer.AuthorizerUri),
      // API Gateway matches the whole text.
      validation: new RegExp(`^(?:${authorizer.IdentityValidationExpression})$`),
      cacheMs: authorizer.AuthorizerResultTtlInSeconds * 1000,
    };
    this.#responses = gatewayResponsesOf(stack);
    this.#paths = pathsOf(stack);
  }

  async handle(request: GatewayRequest): Promise<HttpResponse> {
    const body = await decodedBody(request);
    const outcome = Buffer.isBuffer(body)
      ? await this.#answer({ ...request, body })
      : this.#reject(body, request);
    return this.#report(request, outcome);
  }

  /** Answers without reading on or running any code: more requests are under way than the service holds. */
  shed(request: GatewayRequest): HttpResponse {
    return this.#report(request, this.#reject(gatewayErrors.integrationThrottled, request));
  }

  flushAuthorizerCache(): void {
    this.#cache.clear();
  }

  #report(request: GatewayRequest, { response, ...rest }: Outcome): HttpResponse {
    const { requestId, extendedRequestId, method, fullPath: path, rawQuery: query, time } = request;
    const durationMs = performance.now() - request.startedAt;
    const { status, headers, body } = response;
    this.#options.onRequest?.({ time, method, path, query, status, durationMs, requestId, ...rest });
    const ids = [
      ['x-amzn-RequestId', requestId],
      ['x-amz-apigw-id', extendedRequestId],
    ] as const;
    return { status, headers: [...ids, ...headers], body };
  }

  async #answer(request: GatewayRequest): Promise<Outcome> {
    const found = this.#route(request);
    if (found === undefined) {
      const functionError = `no route ${request.method} ${request.path}`;
      return { ...this.#reject(gatewayErrors.missingRoute, request), functionError };
    }
    const { method, route } = found;
    const authorization = await this.#authorize(request);
    const { authorizer } = authorization;
    const caller = authorizer === undefined ? {} : { authorizer };
    if (authorization.error !== undefined) {
      const rejected = this.#reject(authorization.error, request, route, caller);
      return { ...rejected, functionError: authorization.functionError };
    }
    const apiKey = this.#options.keys.meter(authorization.usageIdentifierKey, request.time);
    if (typeof apiKey === 'string') return this.#reject(gatewayErrors[apiKey], request, route, caller);
    return this.#integrate(method, request, route, { ...caller, apiKey });
  }

  /**
   * The most specific resource, segment by segment, that has the method: a fixed segment before a parameter before a greedy
   * parameter. Slashes at the end do not count.
   *
   * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-set-up-simple-proxy.html
   */
  #route({ path, method: verb }: GatewayRequest) {
    const sent = segmentsOf(path);
    for (const { resourceId, resourcePath, segments, methods } of this.#paths) {
      const pathParameters = match(segments, sent);
      const method = methods.get(verb) ?? methods.get('ANY');
      if (pathParameters !== undefined && method !== undefined)
        return { method, route: { resourceId, resourcePath, pathParameters } };
    }
    return undefined;
  }

  /** The cache has the policy, not the decision: a cached policy is evaluated for each request. */
  async #authorize(request: GatewayRequest): Promise<Authorization> {
    const { apiId, stage } = this.place;
    const resource = `${apiId}/${stage}/${request.method}/${request.path.replace(/^\//, '')}`;
    const methodArn = `arn:aws:execute-api:${region}:${accountId}:${resource}`;
    if (Buffer.byteLength(methodArn) > longestMethodArn) return { error: gatewayErrors.uriTooLong };
    const token = lastValue(request.headers, 'authorization') ?? '';
    if (!this.#authorizer.validation.test(token)) return { error: gatewayErrors.unauthorized };
    const startedAt = Date.now();
    const cached = this.#cache.get(token);
    const answer =
      cached !== undefined && cached.expiresAt > startedAt
        ? cached.answer
        : await this.#invokeAuthorizer(token, methodArn, request);
    if ('error' in answer) return answer;
    const { principalId, usageIdentifierKey, context, policyDocument } = answer;
    const authorizer = { ...context, ...(principalId !== undefined && { principalId }) };
    const error = decide(policyDocument, methodArn);
    return {
      error,
      usageIdentifierKey: usageIdentifierKey ?? undefined,
      authorizer: {
        ...authorizer,
        ...(error === undefined && { integrationLatency: Date.now() - startedAt }),
      },
    };
  }

  async #invokeAuthorizer(
    token: string,
    methodArn: string,
    request: GatewayRequest,
  ): Promise<AuthorizerAnswer | Authorization> {
    const event = JSON.stringify({ type: 'TOKEN', methodArn, authorizationToken: token });
    const input = { event, traceId: traceIdOf(request) };
    const result = await this.#options.invoke(this.#authorizer.functionArn, input);
    if (!result.ok) {
      if (result.errorMessage === 'Unauthorized') return { error: gatewayErrors.unauthorized };
      return { error: gatewayErrors.authorizerFailed, functionError: describeFailure(result) };
    }
    const parsed = authorizerAnswer.safeParse(JSON.parse(result.payload));
    if (!parsed.success) {
      const functionError = `Malformed authorizer response: ${problemOf(parsed.error)}`;
      return { error: gatewayErrors.authorizerMalformed, functionError };
    }
    const { cacheMs } = this.#authorizer;
    const [oldest] = this.#cache.keys();
    if (oldest !== undefined && this.#cache.size >= mostCachedAnswers) this.#cache.delete(oldest);
    if (cacheMs > 0) this.#cache.set(token, { answer: parsed.data, expiresAt: Date.now() + cacheMs });
    return parsed.data;
  }

  async #integrate(
    { Integration }: Method,
    request: GatewayRequest,
    route: Route,
    caller: Caller,
  ): Promise<Outcome> {
    const reject = (error: GatewayError, functionError?: string): Outcome => ({
      ...this.#reject(error, request, route, caller),
      functionError,
    });
    const context = requestContext(request, this.place, route, caller);
    const event = JSON.stringify(proxyEvent(request, route, context));
    if (Buffer.byteLength(event) > largestEvent) return reject(gatewayErrors.eventTooLarge);

    const abandoned = new AbortController();
    const { promise: timeout, resolve } = Promise.withResolvers<undefined>();
    const isTimed = this.#options.suspendTimeouts !== true;
    const timer = isTimed ? setTimeout(resolve, Integration.TimeoutInMillis, undefined) : undefined;
    const input = { event, traceId: traceIdOf(request) };
    const invoked = this.#options.invoke(functionIn(Integration.Uri), input, abandoned.signal);
    const result = await Promise.race([invoked, timeout]);
    clearTimeout(timer);
    if (result === undefined) {
      abandoned.abort();
      return reject(gatewayErrors.integrationTimeout);
    }
    if (isThrottled(result)) return reject(gatewayErrors.integrationThrottled, describeFailure(result));
    if (!result.ok) return reject(gatewayErrors.integrationFailed, describeFailure(result));
    const answer = readProxyAnswer(result.payload);
    if (typeof answer === 'string') return reject(gatewayErrors.malformedAnswer, answer);
    const trace = lastValue(request.headers, 'x-amzn-trace-id') ?? '';
    const traceId = /(?:^|;)\s*Parent=/.test(trace) ? trace : traceIdOf(request);
    const response = { ...answer, headers: [['X-Amzn-Trace-Id', traceId] as const, ...answer.headers] };
    return {
      response: await compressed(response, request, this.#minimumCompressionSize),
      authorizer: caller.authorizer,
    };
  }

  #reject(error: GatewayError, request: GatewayRequest, route?: Route, caller: Caller = {}): Outcome {
    const context = requestContext(request, this.place, route, caller);
    return {
      response: gatewayAnswer(error, this.#responses, request, context),
      errorType: error.type,
      authorizer: caller.authorizer,
    };
  }
}

/** Of the URI of an integration or authorizer, with its alias. */
function functionIn(uri: string): string {
  const arn = /:lambda:path\/[\d-]+\/functions\/(.+)\/invocations$/.exec(uri)?.[1];
  if (arn === undefined) throw new TemplateError(`${uri} is not the URI of a Lambda function.`);
  return arn;
}

function pathsOf(stack: Stack): Path[] {
  const parts = new Map(
    stack.resources('AWS::ApiGateway::Resource').map(({ id, properties }) => [id, properties]),
  );
  const pathOf = (id: string): string => {
    const part = parts.get(id);
    return part === undefined ? '' : `${pathOf(part.ParentId)}/${part.PathPart}`;
  };
  const methods = stack.resources('AWS::ApiGateway::Method').map(({ properties }) => properties);
  const rank = ({ segments }: Path) =>
    segments.map((each) => (each.endsWith('+}') ? 2 : each.startsWith('{') ? 1 : 0)).join('');
  return [...Map.groupBy(methods, ({ ResourceId }) => ResourceId)]
    .map(([resourceId, all]) => ({
      resourceId,
      resourcePath: pathOf(resourceId) || '/',
      segments: segmentsOf(pathOf(resourceId)),
      methods: new Map(all.map((each) => [each.HttpMethod, each])),
    }))
    .toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1));
}

function segmentsOf(path: string): string[] {
  const trimmed = path.replaceAll(/^\/+|\/+$/g, '');
  return trimmed === '' ? [] : trimmed.split('/');
}

/** The path's parameters, as sent: API Gateway leaves decoding to the function. */
function match(segments: readonly string[], sent: readonly string[]): Record<string, string> | undefined {
  const parameters: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const value = sent[index];
    if (value === undefined) return undefined;
    const [, name, isGreedy] = /^\{([^+}]+)(\+)?\}$/.exec(segment) ?? [];
    if (name !== undefined && isGreedy !== undefined)
      return { ...parameters, [name]: sent.slice(index).join('/') };
    if (name === undefined ? value !== segment : value === '') return undefined;
    if (name !== undefined) parameters[name] = value;
  }
  return sent.length === segments.length ? parameters : undefined;
}

const oneOrMore = z.union([z.array(z.string()), z.string().transform((one) => [one])]);
const policy = z.object({
  Version: z.string().optional(),
  Statement: z.array(
    z.strictObject({ Effect: z.enum(['Allow', 'Deny']), Action: oneOrMore, Resource: oneOrMore }),
  ),
});

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-lambda-authorizer-output.html */
const authorizerAnswer = z.object({
  // Without one, AWS lets the request pass (recorded by ministack, 2026-09-20).
  principalId: z.string().optional(),
  policyDocument: policy,
  context: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String).nullable())
    .nullish(),
  usageIdentifierKey: z.string().nullish(),
});
type AuthorizerAnswer = z.infer<typeof authorizerAnswer>;

interface Authorization extends Caller {
  /** Undefined when the request is let in. */
  readonly error: GatewayError | undefined;
  readonly usageIdentifierKey?: string | undefined;
  readonly functionError?: string;
}

/** An IAM policy without conditions: Deny overrides Allow. https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-authorization-flow.html */
function decide({ Statement }: z.infer<typeof policy>, methodArn: string): GatewayError | undefined {
  const applying = Statement.filter(
    ({ Action, Resource }) =>
      Action.some((each) => matches(each.toLowerCase(), 'execute-api:invoke')) &&
      Resource.some((each) => matches(each, methodArn)),
  );
  const effects = new Set(applying.map(({ Effect }) => Effect));
  if (effects.has('Deny')) return gatewayErrors.explicitlyDenied;
  return effects.has('Allow') ? undefined : gatewayErrors.accessDenied;
}

/** `*` matches any text, slashes included, and `?` one character. */
function matches(pattern: string, text: string): boolean {
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll(/\*+/g, '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's').test(text);
}
