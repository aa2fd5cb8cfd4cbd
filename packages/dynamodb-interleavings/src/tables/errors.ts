/** An error that DynamoDB returns. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  /** The name of DynamoDB's exception. */
  readonly type: string;
  /** Members of the exception besides its message. */
  readonly members: object;

  constructor(type: string, message = type, members: object = {}) {
    super(message);
    this.type = type;
    this.members = members;
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
