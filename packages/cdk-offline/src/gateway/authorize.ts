import { z } from 'zod';
import type { InvocationResult } from '../lambda/environment.ts';
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

/** Whom the authorizer took the caller for. */
interface Identity {
  readonly principalId: string;
  readonly usageIdentifierKey: string | undefined;
  /** `$context.authorizer`: every value is text. */
  readonly authorizer: Readonly<Record<string, string>>;
}

export type Authorization =
  | { readonly granted: true; readonly identity: Identity; /** Milliseconds. */ readonly latency: number }
  | { readonly granted: false; readonly error: GatewayError; readonly identity?: Identity };

/** So many answers are remembered at most. */
const largestCache = 10_000;

/**
 * Asks a TOKEN authorizer, or remembers what it said. What is remembered is the policy, not the verdict: it is
 * evaluated for each request, also when it was made for another one.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-use-lambda-authorizer.html
 */
export class AuthorizerGate {
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
    const answer = this.#remembered(token) ?? (await this.#ask(token, methodArn));
    if ('error' in answer) return { granted: false, error: answer.error };
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

  #remembered(token: string): AuthorizerAnswer | undefined {
    const found = this.#cache.get(token);
    if (found !== undefined && found.expiresAt > this.#now()) return found.answer;
    this.#cache.delete(token);
    return undefined;
  }

  async #ask(token: string, methodArn: string): Promise<AuthorizerAnswer | { readonly error: GatewayError }> {
    const event = { type: 'TOKEN', methodArn, authorizationToken: token };
    const result = await this.#invoke(JSON.stringify(event));
    if (!result.ok) {
      // The one message that API Gateway takes for a verdict.
      const unauthorized = result.failure.errorMessage === 'Unauthorized';
      return { error: unauthorized ? gatewayErrors.unauthorized : gatewayErrors.authorizerFailure };
    }
    const answer = authorizerAnswer.safeParse(JSON.parse(result.payload));
    if (!answer.success) return { error: gatewayErrors.authorizerConfiguration };
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
