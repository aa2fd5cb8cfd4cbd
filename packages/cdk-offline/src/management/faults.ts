import { z } from 'zod';
import type { HttpResponse } from '../http-message.ts';
import { jsonError } from './responses.ts';

/**
 * Injected errors of API Gateway's management API, for tests of tools. On AWS they occur for reasons that callers cannot
 * control.
 */

/** AWS answers `ConcurrentModification` and `NotFound` while another change is in progress. */
const managementError = z.enum(['ConcurrentModification', 'TooManyRequests', 'NotFound']);
export type ManagementError = z.infer<typeof managementError>;

const managementFailure = z.object({
  /** The SDK's name of the operation, such as `CreateApiKey`. */
  operation: z.string(),
  error: managementError,
  /** How many calls of the operation fail before one succeeds. */
  times: z.int().min(1).default(1),
});
export type ManagementFailure = z.input<typeof managementFailure>;

const managementFaults = z.strictObject({
  /** Failures of the same operation occur in this order. */
  failures: z.array(managementFailure).default([]),
  /**
   * Milliseconds after the start of a CreateApiKey, CreateUsagePlanKey or DeleteUsagePlanKey during which further calls
   * of these get 409. AWS executes them one at a time. 0 disables it.
   */
  exclusiveMs: z.number().min(0).default(0),
});
export type ManagementFaults = z.input<typeof managementFaults>;

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

  /** The remaining errors. */
  get faults(): ManagementFaults {
    return { failures: this.#failures.map((failure) => ({ ...failure })), exclusiveMs: this.#exclusiveMs };
  }

  /** Replaces the previous errors. @throws z.ZodError */
  set(faults: unknown): void {
    const { failures, exclusiveMs } = managementFaults.parse(faults);
    this.#failures = failures;
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
