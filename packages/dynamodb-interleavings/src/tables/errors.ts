/** An error that DynamoDB returns. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  /** The name of DynamoDB's exception. */
  readonly type: string;
  /** Members of the exception besides its message. */
  readonly members: object;

  constructor(type: string, message = type, members: object = {}) {
    // Where it is thrown tells nobody anything, and takes longer than all the rest.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.type = type;
    this.members = members;
  }
}

/** A key of another type or with other attributes than those of the table or index. It cancels a transaction. */
export class WrongKey extends Refusal {
  constructor(message: string) {
    super('ValidationException', message);
  }
}

/** A key that is empty. Unlike one of a wrong type, it refuses a transaction as a whole. */
export class EmptyKey extends Refusal {
  constructor(message: string) {
    super('ValidationException', message);
  }
}

/** A call that these tables do not know, although DynamoDB may. It is never answered by a guess. */
export class Unsupported extends Error {
  override readonly name = 'Unsupported';

  constructor(what: string) {
    super(`The simulated tables do not know ${what}.`);
  }
}

export function invalid(message: string): never {
  throw new Refusal('ValidationException', message);
}

export function cancelled(reasons: readonly { readonly Code: string }[]): Refusal {
  const codes = reasons.map(({ Code: code }) => code).join(', ');
  const message = `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`;
  return new Refusal('TransactionCanceledException', message, { CancellationReasons: reasons });
}
