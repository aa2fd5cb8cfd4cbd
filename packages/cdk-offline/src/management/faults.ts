import { z } from 'zod';
import type { HttpResponse } from '../http-message.ts';
import { jsonError } from './responses.ts';

/**
 * Errors that API Gateway's management API answers on AWS for reasons outside of a caller's control, on request, so
 * that tests of a tool can meet them.
 */

/** `ConcurrentModification` and `NotFound` are what AWS answers while it still works on another change. */
const managementError = z.enum(['ConcurrentModification', 'TooManyRequests', 'NotFound']);
export type ManagementError = z.infer<typeof managementError>;

const managementFailure = z.object({
  /** As the SDK names it, such as `CreateApiKey`. */
  operation: z.string(),
  error: managementError,
  /** How many calls of the operation fail before one succeeds. */
  times: z.int().min(1).default(1),
});
export type ManagementFailure = z.input<typeof managementFailure>;

const managementFaults = z.strictObject({
  /** The next calls of an operation fail. Failures of the same operation follow each other in this order. */
  failures: z.array(managementFailure).default([]),
  /**
   * For so many milliseconds after a CreateApiKey, CreateUsagePlanKey or DeleteUsagePlanKey has begun, each further
   * call of one of these is answered 409, as on AWS, which carries them out one at a time. 0 turns it off.
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

/** Decides which calls fail. */
export class FaultInjector {
  #failures: { operation: string; error: ManagementError; times: number }[] = [];
  #exclusiveMs = 0;
  #exclusiveUntil = 0;

  /** What is still to fail. */
  get faults(): ManagementFaults {
    return { failures: this.#failures.map((failure) => ({ ...failure })), exclusiveMs: this.#exclusiveMs };
  }

  /** Replaces what was set before. @throws z.ZodError */
  set(faults: unknown): void {
    const { failures, exclusiveMs } = managementFaults.parse(faults);
    this.#failures = failures;
    this.#exclusiveMs = exclusiveMs;
    this.#exclusiveUntil = 0;
  }

  /**
   * @param now milliseconds since the Unix epoch
   * @returns the error that a call gets, or `undefined` when it is carried out
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
