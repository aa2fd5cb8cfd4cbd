/** A database cannot be used. The message says what is missing, and how to install it. */
export class NotInstalled extends Error {
  override readonly name = 'NotInstalled';
  /** How to install it, as a part of a sentence. `undefined` when it does not exist for this platform. */
  readonly advice: string | undefined;

  constructor(problem: string, advice: string | undefined, cause: unknown) {
    super(advice === undefined ? problem : `${problem} ${advice.replace(/^i/, 'I')}.`, { cause });
    this.advice = advice;
  }
}
