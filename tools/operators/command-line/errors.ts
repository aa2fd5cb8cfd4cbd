import type { LocalAddress } from './local-address.ts';

/** Kinds of errors, and the exit code of every tool for each. docs/keys.md says what to do. */
export const exitCodes = {
  failed: 1, // AWS, the network or the local service
  usage: 2, // invalid arguments, or an invalid file
  not_found: 3, // what the command is about, or the stack, does not exist
  refused: 4, // not allowed in the present state, or not confirmed
  unknown: 5, // the change may have been made or not
  interrupted: 130, // by Ctrl-C: 128 and the number of the signal
} as const;

/** The exit codes in the help of every tool. */
export const exitCodeHelp = `Exit codes: 0 done, 1 failed, 2 invalid arguments, 3 not found, 4 refused, 5 outcome unknown,
130 interrupted. docs/keys.md says what to do.`;

/** An error for the operator: one line that says what is wrong and what to do. */
export class ToolError extends Error {
  override readonly name: string = 'ToolError';
  readonly kind: keyof typeof exitCodes;

  constructor(kind: keyof typeof exitCodes, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

export function usageError(message: string): ToolError {
  return new ToolError('usage', message);
}

/** What is wrong with the fields of an item. */
export function problemsIn(
  item: unknown,
  { issues }: { readonly issues: readonly { readonly path: PropertyKey[]; readonly message: string }[] },
): string {
  const fields = Object(item) as Readonly<Record<PropertyKey, unknown>>;
  const problems = issues.map(({ path, message }) => {
    const [first] = path;
    if (first === undefined) return message;
    const isMissing = path.length === 1 && fields[first] === undefined;
    return `${path.join('.')}: ${isMissing ? 'is required' : message}`;
  });
  return problems.join('; ');
}

/** What a tool connects to. `endpoint`: the local service, AWS if it is `undefined`. */
export interface Target {
  readonly stage: string;
  readonly endpoint?: string | undefined;
  /** The credentials of the local service, if the command calls it. */
  readonly credentials?: LocalAddress['credentials'] | undefined;
  readonly region?: string | undefined;
  readonly profile?: string | undefined;
}

/** Any error as one line for the operator: its own message, unless that does not say what to do. */
export function explain(error: unknown, target: Partial<Target> = {}): ToolError {
  if (error instanceof ToolError) return error;
  const { name, message, code, path }: NodeJS.ErrnoException =
    error instanceof Error ? error : new Error(String(error));
  const cause = message.replaceAll(/\s+/g, ' ').trim() || name;
  // The error is about a file that an argument names.
  if (path !== undefined) return usageError(`${cause}.`);
  if (/region is missing/i.test(cause))
    return usageError('The Region is not set. Give it with --region, or set AWS_REGION.');
  const advice = adviceFor(`${code ?? name}: ${cause}`, cause, target);
  return new ToolError('failed', advice ?? cause, { cause: error });
}

/** What to do about an error. @param text its code or name, and its message */
function adviceFor(text: string, cause: string, { stage, endpoint, region, profile }: Partial<Target>) {
  const isForeign = text.includes('Deserialization error');
  const isUnreachable = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)/.test(text);
  const isDenied =
    /^(ExpiredToken|TokenRefreshRequired|UnrecognizedClient|InvalidClientTokenId|InvalidSignature)/.test(
      text,
    );
  if (endpoint !== undefined) {
    if (isForeign) return `What answers at ${endpoint} is not the local service. Give its port with --port.`;
    if (isUnreachable)
      return `No service answers at ${endpoint}. Start it with "npm start", or give its port with --port.`;
    if (isDenied)
      return `The service at ${endpoint} was not started from this folder by this user, so it refuses this command. Run the command where it was started.`;
  }
  const signIn = `Sign in ("aws sso login${profile === undefined ? '' : ` --profile ${profile}`}")`;
  if (isForeign)
    return 'What answers is not AWS, but something in between, such as a proxy or the sign-in page of a network.';
  if (isUnreachable)
    return `AWS cannot be reached. Check the network and the Region (${region ?? 'AWS_REGION'}).`;
  if (isDenied)
    return `AWS does not accept these credentials (${cause}). ${signIn}, or check whose they are ("aws sts get-caller-identity").`;
  if (/^CredentialsProviderError|could not load credentials/i.test(text))
    return `AWS credentials are missing. ${signIn}, set AWS_PROFILE, or give a profile with --profile.`;
  if (/^(Resource)?NotFoundException/.test(text))
    return `A resource of the stack does not exist (${cause}). Deploy stage ${stage} again.`;
  if (/^(ECONNRESET|EPIPE|TimeoutError|ServiceUnavailable|Internal(Server|Failure|Service))/.test(text))
    return `AWS or the network fails (${cause}), after 10 tries. Run the same command again.`;
  return undefined;
}
