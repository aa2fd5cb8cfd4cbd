import { StandardRetryStrategy } from '@smithy/core/retry';
import type { RetryErrorInfo, StandardRetryToken } from '@smithy/types';

/** Attempts of one call, and the delay of the first retry in milliseconds: the SDK's values for DynamoDB. */
export const maxAttempts = 4;
const baseDelay = 25;

/**
 * The SDK's retries, with two exceptions.
 *
 * - A throttled call is repeated at most `throttlingRetries` times, after `baseDelay` at most. The SDK waits up to a second
 *   each time. With every environment waiting, throttling of a table would use up the concurrency of the account.
 * - `retry-after` of an answer is ignored: DynamoDB does not send it, and what is between would hold a request for seconds.
 */
export class BriefRetryStrategy extends StandardRetryStrategy {
  readonly #throttlingRetries: number;

  constructor(throttlingRetries: number) {
    super({ maxAttempts, baseDelay });
    this.#throttlingRetries = throttlingRetries;
  }

  override async refreshRetryTokenForRetry(
    token: StandardRetryToken,
    { error, errorType }: RetryErrorInfo,
  ): ReturnType<StandardRetryStrategy['refreshRetryTokenForRetry']> {
    const throttled = errorType === 'THROTTLING';
    if (throttled && token.getRetryCount() >= this.#throttlingRetries)
      throw new Error('This error is not retried');
    return super.refreshRetryTokenForRetry(token, {
      ...(error && { error }),
      errorType: throttled ? 'TRANSIENT' : errorType,
    });
  }
}
