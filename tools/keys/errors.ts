/** What is wrong, and with it the tool's exit code. */
export const exitCodes = {
  /** AWS, the network or the local service failed. */
  failed: 1,
  /** The call is not right: an unknown option, a missing limit. */
  usage: 2,
  /** There is no such key, stack or service. */
  not_found: 3,
  /** The key's state does not allow it, or nobody confirmed it. */
  refused: 4,
} as const;

export type Fault = keyof typeof exitCodes;

/** An error for the operator: one line that says what to do. */
export class KeyToolError extends Error {
  override readonly name = 'KeyToolError';
  readonly fault: Fault;

  constructor(fault: Fault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}
