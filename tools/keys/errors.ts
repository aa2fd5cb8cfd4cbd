/** Kinds of errors, and the tool's exit code for each. */
export const exitCodes = {
  /** AWS, the network or the local service failed. */
  failed: 1,
  /** Invalid arguments: an unknown option, a missing limit. */
  usage: 2,
  /** No such key or stack. */
  not_found: 3,
  /** Not allowed in the key's state, or not confirmed. */
  refused: 4,
} as const;

export type ErrorKind = keyof typeof exitCodes;

/** An error for the operator: one line that says what is wrong and what to do. */
export class KeyToolError extends Error {
  override readonly name = 'KeyToolError';
  readonly kind: ErrorKind;

  constructor(kind: ErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}
