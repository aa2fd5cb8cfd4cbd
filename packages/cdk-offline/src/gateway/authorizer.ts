import { z } from 'zod';
import { describeFailure, type InvocationInput, type InvocationResult } from '../lambda/environment.ts';
import { type GatewayError, gatewayErrors } from './gateway-responses.ts';
import { evaluate, policyDocument } from './policy.ts';
import { problemOf, scalar } from '../template/schema.ts';
import type { LambdaAuthorizer } from './read-authorizers.ts';

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-lambda-authorizer-output.html */
const authorizerAnswer = z.object({
  principalId: z.string().min(1),
  policyDocument,
  context: z
    .record(z.string(), scalar.nullable())
    .nullish()
    .transform((context) => context ?? {}),
  usageIdentifierKey: z.string().nullish(),
});
type AuthorizerAnswer = z.infer<typeof authorizerAnswer>;

/** `$context.authorizer`. */
export type CallerContext = Readonly<
  Record<string, string | number | null | /** Of a Cognito token. */ Readonly<Record<string, string>>>
>;

/** The caller, as the authorizer returned it. */
interface Identity {
  readonly usageIdentifierKey: string | undefined;
  readonly authorizer: CallerContext;
}

export type Authorization =
  | {
      readonly granted: true;
      readonly identity: Identity;
      /** Of a Lambda authorizer, in milliseconds. */ readonly latency?: number;
    }
  | {
      readonly granted: false;
      readonly error: GatewayError;
      readonly identity?: Identity;
      /** Type and message of the authorizer's error. */
      readonly functionError?: string;
    };

/** The request of a client, as an authorizer sees it. */
export interface AuthorizationRequest {
  readonly methodArn: string;
  /** The value of `_X_AMZN_TRACE_ID`. */
  readonly traceId: string;
  /** The value of an identity source such as `method.request.header.Authorization`. */
  readonly valueOf: (identitySource: string) => string | undefined;
  /** What the event of a REQUEST authorizer has of the request. */
  readonly parameters: () => object;
}

const maxCacheEntries = 10_000;

/**
 * A Lambda authorizer with its cache, by the values of its identity sources. The cache has the policy, not the decision: a
 * cached policy is evaluated for each request.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-use-lambda-authorizer.html
 */
export class Authorizer {
  readonly #authorizer: LambdaAuthorizer;
  readonly #invoke: (input: InvocationInput) => Promise<InvocationResult>;
  readonly #now: () => number;
  readonly #cache = new Map<string, { readonly answer: AuthorizerAnswer; readonly expiresAt: number }>();

  /** @param now milliseconds since the Unix epoch */
  constructor(
    authorizer: LambdaAuthorizer,
    invoke: (input: InvocationInput) => Promise<InvocationResult>,
    now: () => number = Date.now,
  ) {
    this.#authorizer = authorizer;
    this.#invoke = invoke;
    this.#now = now;
  }

  async authorize(request: AuthorizationRequest): Promise<Authorization> {
    const { validation, identitySources } = this.#authorizer;
    const identities = identitySources.map((source) => request.valueOf(source) ?? '');
    if (identities.some((value) => value === '' || validation?.test(value) === false)) {
      return { granted: false, error: gatewayErrors.unauthorized };
    }
    const start = this.#now();
    const key = JSON.stringify(identities);
    const answer = this.#cached(key) ?? (await this.#invokeFunction(key, identities, request));
    if ('error' in answer) return { granted: false, ...answer };
    const { principalId, usageIdentifierKey, context } = answer;
    const identity = {
      usageIdentifierKey: usageIdentifierKey ?? undefined,
      authorizer: { ...context, principalId },
    };
    switch (evaluate(answer.policyDocument, request.methodArn)) {
      case 'allowed':
        return { granted: true, identity, latency: this.#now() - start };
      case 'denied':
        return { granted: false, error: gatewayErrors.explicitlyDenied, identity };
      case 'notAllowed':
        return { granted: false, error: gatewayErrors.accessDenied, identity };
    }
  }

  /** Empties the cache. */
  flush(): void {
    this.#cache.clear();
  }

  #cached(key: string): AuthorizerAnswer | undefined {
    const found = this.#cache.get(key);
    if (found !== undefined && found.expiresAt > this.#now()) return found.answer;
    this.#cache.delete(key);
    return undefined;
  }

  async #invokeFunction(
    key: string,
    [token]: readonly string[],
    { methodArn, traceId, parameters }: AuthorizationRequest,
  ): Promise<AuthorizerAnswer | { readonly error: GatewayError; readonly functionError?: string }> {
    const { type } = this.#authorizer;
    const event = {
      type,
      methodArn,
      ...(type === 'TOKEN' ? { authorizationToken: token } : parameters()),
    };
    const result = await this.#invoke({ event: JSON.stringify(event), traceId });
    if (!result.ok) {
      if (result.failure.errorMessage === 'Unauthorized') return { error: gatewayErrors.unauthorized };
      // Any other error, a time-out and throttling: "Execution failed due to configuration error: Authorizer error".
      return { error: gatewayErrors.authorizerConfiguration, functionError: describeFailure(result) };
    }
    const answer = authorizerAnswer.safeParse(JSON.parse(result.payload));
    if (!answer.success) {
      const functionError = `Malformed authorizer response: ${problemOf(answer.error)}`;
      return { error: gatewayErrors.authorizerConfiguration, functionError };
    }
    if (this.#authorizer.cacheSeconds > 0) {
      const [oldest] = this.#cache.keys();
      if (oldest !== undefined && this.#cache.size >= maxCacheEntries) this.#cache.delete(oldest);
      this.#cache.set(key, {
        answer: answer.data,
        expiresAt: this.#now() + this.#authorizer.cacheSeconds * 1000,
      });
    }
    return answer.data;
  }
}
