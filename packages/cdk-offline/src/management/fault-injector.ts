import type { HttpResponse } from '../http-message.ts';
import type { ManagementError, ManagementFaults } from './faults.ts';
import { jsonError } from './responses.ts';

const responses: Readonly<Record<ManagementError, HttpResponse>> = {
  ConcurrentModification: jsonError(
    409,
    'ConflictException',
    'Unable to complete operation due to concurrent modification. Please try again later.',
  ),
  TooManyRequests: jsonError(429, 'TooManyRequestsException', 'Too Many Requests'),
  NotFound: jsonError(404, 'NotFoundException', 'Invalid API Key identifier specified'),
};

const exclusive = new Set(['CreateApiKey', 'CreateUsagePlanKey', 'DeleteUsagePlanKey']);

export class FaultInjector {
  #failures: { operation: string; error: ManagementError; times: number }[] = [];
  #exclusiveMs = 0;
  #exclusiveUntil = 0;

  /** Replaces the previous errors. */
  set({ failures = [], exclusiveMs = 0 }: ManagementFaults): void {
    this.#failures = failures.map((failure) => ({ times: 1, ...failure }));
    this.#exclusiveMs = exclusiveMs;
    this.#exclusiveUntil = 0;
  }

  /**
   * @param now milliseconds since the Unix epoch
   * @returns the error for the call, or `undefined` when it is executed
   */
  failureOf(operation: string, now: number): HttpResponse | undefined {
    const failure = this.#failures.find((one) => one.operation === operation);
    if (failure !== undefined) {
      failure.times -= 1;
      if (failure.times === 0) this.#failures.splice(this.#failures.indexOf(failure), 1);
      return responses[failure.error];
    }
    if (!exclusive.has(operation) || this.#exclusiveMs === 0) return undefined;
    if (now < this.#exclusiveUntil) return responses.ConcurrentModification;
    this.#exclusiveUntil = now + this.#exclusiveMs;
    return undefined;
  }
}
