/**
 * Injected errors of API Gateway's management API, for tests of tools. On AWS they occur for reasons that callers cannot
 * control.
 */

/** AWS answers `ConcurrentModification` and `NotFound` while another change is in progress. */
export type ManagementError = 'ConcurrentModification' | 'TooManyRequests' | 'NotFound';

export interface ManagementFailure {
  /** The SDK's name of the operation, such as `CreateApiKey`. */
  readonly operation: string;
  readonly error: ManagementError;
  /** How many calls of the operation fail before one succeeds. 1 when absent. */
  readonly times?: number;
}

export interface ManagementFaults {
  /** Failures of the same operation occur in this order. */
  readonly failures?: readonly ManagementFailure[];
  /**
   * Milliseconds after the start of a CreateApiKey, CreateUsagePlanKey or DeleteUsagePlanKey during which further calls
   * of these get 409. AWS executes them one at a time. 0 or absent disables it.
   */
  readonly exclusiveMs?: number;
}
