import { callSite, withCallSite } from './call-site.ts';
import { type RateLimit, rateLimitOf, type RateLimits, rateLimitsOf, requestIdOf } from './headers.ts';

/** What a call returns, and the response that it was read from. */
export interface WithResponse<T> {
  readonly data: T;
  /** Its status and headers. The body is already read. */
  readonly response: Response;
  /** Identifies the request: quote it when you report a problem. */
  readonly requestId: string | undefined;
  /** The window, minute or day, that has the fewest requests remaining. */
  readonly rateLimit: RateLimit | undefined;
  /** Both windows. `undefined` when the answer has no such headers, which follow a draft. */
  readonly rateLimits: RateLimits | undefined;
}

export type Received<T> = Pick<WithResponse<T>, 'data' | 'response'>;

/** A promise of what a call returns. `withResponse()` also gives the response. Errors show where it was created. */
export class ApiPromise<T> extends Promise<T> {
  readonly #received: Promise<Received<T>>;

  /** @param call sends the request. What it throws rejects the promise */
  constructor(call: () => Promise<Received<T>>) {
    const site = callSite(new.target);
    const received = new Promise<Received<T>>((resolve) => resolve(call()));
    super((resolve, reject) => {
      received.then(
        ({ data }) => resolve(data),
        (error) => reject(withCallSite(error, site)),
      );
    });
    this.#received = received;
  }

  /** `then` and `catch` return ordinary promises. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /**
   * The result with the response, for its status, request ID and rate limit.
   *
   * @example
   * const { data, requestId, rateLimit } = await store.pets.create(pet).withResponse();
   */
  async withResponse(): Promise<WithResponse<T>> {
    // A failure rejects this promise too, which nobody else may be waiting for.
    const [{ data, response }] = await Promise.all([this.#received, this]);
    const { headers } = response;
    return {
      data,
      response,
      requestId: requestIdOf(headers),
      rateLimit: rateLimitOf(headers),
      rateLimits: rateLimitsOf(headers),
    };
  }
}
