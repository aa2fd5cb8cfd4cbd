import { z } from 'zod';
import { describeFailure, type InvocationResult } from '../lambda/environment.ts';
import { type GatewayError, gatewayErrors } from './gateway-responses.ts';
import { evaluate, policyDocument } from './policy.ts';
import type { TokenAuthorizer } from './rest-api.ts';

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-lambda-authorizer-output.html */
const authorizerAnswer = z.object({
  principalId: z.string().min(1),
  policyDocument,
  context: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String))
    .nullish()
    .transform((context) => context ?? {}),
  usageIdentifierKey: z.string().nullish(),
});
type AuthorizerAnswer = z.infer<typeof authorizerAnswer>;

/** What the authorizer said of the caller. */
interface Identity {
  readonly principalId: string;
  readonly usageIdentifierKey: string | undefined;
  /** `$context.authorizer`: every value is text. */
  readonly authorizer: Readonly<Record<string, string>>;
}

export type Authorization =
  | { readonly granted: true; readonly identity: Identity; /** Milliseconds. */ readonly latency: number }
  | {
      readonly granted: false;
      readonly error: GatewayError;
      readonly identity?: Identity;
      /** Type and message of what the authorizer threw. */
      readonly functionError?: string;
    };

/** Entries of the cache. */
const largestCache = 10_000;

/**
 * Asks a TOKEN authorizer, with a cache. The cache holds the policy, not the decision: the policy is evaluated for
 * each request, also when it was returned for another one.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-use-lambda-authorizer.html
 */
export class Authorizer {
  readonly #authorizer: TokenAuthorizer;
  readonly #invoke: (event: string) => Promise<InvocationResult>;
  readonly #now: () => number;
  readonly #cache = new Map<string, { readonly answer: AuthorizerAnswer; readonly expiresAt: number }>();

  /** @param now milliseconds since the Unix epoch */
  constructor(
    authorizer: TokenAuthorizer,
    invoke: (event: string) => Promise<InvocationResult>,
    now: () => number = Date.now,
  ) {
    this.#authorizer = authorizer;
    this.#invoke = invoke;
    this.#now = now;
  }

  async authorize(token: string | undefined, methodArn: string): Promise<Authorization> {
    const { validation } = this.#authorizer;
    if (token === undefined || token === '' || validation?.test(token) === false) {
      return { granted: false, error: gatewayErrors.unauthorized };
    }
    const start = this.#now();
    const answer = this.#cached(token) ?? (await this.#ask(token, methodArn));
    if ('error' in answer) return { granted: false, ...answer };
    const { principalId, usageIdentifierKey, context } = answer;
    const identity = {
      principalId,
      usageIdentifierKey: usageIdentifierKey ?? undefined,
      authorizer: { ...context, principalId },
    };
    switch (evaluate(answer.policyDocument, methodArn)) {
      case 'allowed':
        return { granted: true, identity, latency: this.#now() - start };
      case 'denied':
        return { granted: false, error: gatewayErrors.explicitlyDenied, identity };
      case 'notAllowed':
        return { granted: false, error: gatewayErrors.accessDenied, identity };
    }
  }

  /** Forgets every answer. */
  flush(): void {
    this.#cache.clear();
  }

  #cached(token: string): AuthorizerAnswer | undefined {
    const found = this.#cache.get(token);
    if (found !== undefined && found.expiresAt > this.#now()) return found.answer;
    this.#cache.delete(token);
    return undefined;
  }

  async #ask(
    token: string,
    methodArn: string,
  ): Promise<AuthorizerAnswer | { readonly error: GatewayError; readonly functionError?: string }> {
    const event = { type: 'TOKEN', methodArn, authorizationToken: token };
    const result = await this.#invoke(JSON.stringify(event));
    if (!result.ok) {
      if (result.failure.errorMessage === 'Unauthorized') return { error: gatewayErrors.unauthorized };
      // Any other error, a time-out and throttling: "Execution failed due to configuration error: Authorizer error".
      return { error: gatewayErrors.authorizerConfiguration, functionError: describeFailure(result) };
    }
    const answer = authorizerAnswer.safeParse(JSON.parse(result.payload));
    if (!answer.success)
      return { error: gatewayErrors.authorizerConfiguration, functionError: 'Malformed authorizer response' };
    if (this.#authorizer.cacheSeconds > 0) {
      const [oldest] = this.#cache.keys();
      if (oldest !== undefined && this.#cache.size >= largestCache) this.#cache.delete(oldest);
      this.#cache.set(token, {
        answer: answer.data,
        expiresAt: this.#now() + this.#authorizer.cacheSeconds * 1000,
      });
    }
    return answer.data;
  }
}
