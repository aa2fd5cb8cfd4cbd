import type { LocalAddress } from './local-address.ts';
import { mayBeDone, unreadableAnswer } from './retry.ts';

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

/** The answer of the write that decides was lost, and what it wrote cannot be read. */
export class OutcomeUnknownError extends ToolError {
  constructor(id: string, leftOver: string, cause: unknown) {
    const advice = `Run "show ${id}". If it does not show the change, run the same command again.`;
    const message = `Outcome unknown: the answer was lost, and ${id} cannot be read. ${advice} ${leftOver}`;
    super('unknown', message.trim(), { cause });
  }
}

/**
 * Decides whether a write that failed was made after all. Returns if it was.
 *
 * @param id of what was written
 * @param leftOver how to find what the command leaves if it ends here
 * @throws the error if it was not made, OutcomeUnknownError if that cannot be read
 */
export async function settle(
  error: unknown,
  { id, leftOver = '' }: { readonly id: string; readonly leftOver?: string },
  isMade: () => Promise<boolean>,
): Promise<void> {
  if (!mayBeDone(error)) throw error;
  let made: boolean;
  try {
    made = await isMade();
  } catch (cause) {
    throw new OutcomeUnknownError(id, leftOver, cause);
  }
  if (!made) throw error;
}

/** What is wrong with the fields of a stored item. */
export function problemsIn(
  item: Readonly<Record<string, unknown>>,
  { issues }: { readonly issues: readonly { readonly path: PropertyKey[]; readonly message: string }[] },
): string {
  const problems = issues.map(({ path, message }) => {
    const isMissing = path.length === 1 && item[String(path[0])] === undefined;
    return `${path.join('.')}: ${isMissing ? 'is required' : message}`;
  });
  return problems.join('; ');
}

export function usageError(message: string): ToolError {
  return new ToolError('usage', message);
}

/** What a tool connects to. `endpoint`: the local service, AWS if it is `undefined`. */
export interface Target {
  readonly stage: string;
  readonly endpoint?: string | undefined;
  /** Of the local service. */
  readonly credentials?: LocalAddress['credentials'] | undefined;
  readonly region?: string | undefined;
  readonly profile?: string | undefined;
}

/** Any error as one line for the operator. */
export function explain(error: unknown, target: Target | undefined): ToolError {
  if (error instanceof ToolError) return error;
  const { name, message, code = '', path } = toError(error);
  const problem = fileProblems[code];
  if (path !== undefined && problem !== undefined) return usageError(`${path} ${problem}.`);
  const otherSource = answerOfAnother(error, target);
  if (otherSource !== undefined) return new ToolError('failed', otherSource, { cause: error });
  const cause = message.replaceAll(/\s+/g, ' ').trim();
  const matches = ([pattern]: [string, string]) => new RegExp(pattern, 'i').test(`${code} ${name}: ${cause}`);
  const [, advice] = Object.entries(adviceFor(code, cause, target)).find(matches) ?? [];
  return new ToolError('failed', advice ?? (cause || name), { cause: error });
}

/** Errors of files that an argument names. */
const fileProblems: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is not in a folder',
  EISDIR: 'is a folder',
  EACCES: 'is not allowed to be read or written by you',
  EROFS: 'is on a file system that cannot be written',
};

/** What to say about an answer that is not of AWS. */
function answerOfAnother(error: unknown, { endpoint }: Partial<Target> = {}): string | undefined {
  const answer = unreadableAnswer(error);
  if (answer === undefined) return undefined;
  const { statusCode, headers = {} } = answer;
  const kind = `status ${statusCode}, ${headers['content-type'] ?? 'no content type'}`;
  return endpoint === undefined
    ? `What answers is not AWS (${kind}), but something in between, such as a proxy or the sign-in page of a network.`
    : `What answers at ${endpoint} is not the local service (${kind}). Give its port with --port.`;
}

function toError(error: unknown): NodeJS.ErrnoException {
  return error instanceof Error ? error : new Error(String(error));
}

/** What to do about an error, by a pattern for its code, name and message. The first that matches counts. */
function adviceFor(
  code: string,
  cause: string,
  { stage, endpoint, region = 'AWS_REGION', profile }: Partial<Target> = {},
): Record<string, string> {
  const missing = profile === undefined ? 'AWS credentials' : `Credentials for profile ${profile}`;
  const signIn = profile === undefined ? 'aws sso login' : `aws sso login --profile ${profile}`;
  return {
    '^(ECONNRESET|EPIPE| TimeoutError)|ServiceUnavailable|Internal(Server|Failure|Service)': `AWS or the network fails (${cause}), after 10 tries. Run the same command again.`,
    '^(ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)':
      endpoint === undefined
        ? `AWS cannot be reached (${code}). Check the network and the Region (${region}).`
        : `No service answers at ${endpoint}. Start it with "npm start", or give its port with --port.`,
    'region is missing': 'The Region is not set. Give it with --region, or set AWS_REGION.',
    'CredentialsProviderError|could not load credentials': `${missing} are missing. Sign in ("${signIn}"), set AWS_PROFILE, or give a profile with --profile.`,
    ' (ExpiredToken|TokenRefreshRequired)': `The AWS credentials have expired. Sign in again ("${signIn}").`,
    'Signature (expired|not yet current)|RequestExpired|RequestTimeTooSkewed|RequestInTheFuture':
      'AWS rejects the time of the call: the clock of this machine is wrong. Set it, then run the same command again.',
    ' (UnrecognizedClient|InvalidClientTokenId|(Invalid)?Signature|IncompleteSignature)':
      endpoint === undefined
        ? 'AWS does not accept these credentials. Check which account they belong to ("aws sts get-caller-identity").'
        : `The service at ${endpoint} was not started from this folder by this user, so it refuses this command. Run the command where it was started.`,
    ' (AccessDenied|Unauthorized|NotAuthorized)': `These credentials do not allow this: ${cause}`,
    ' LimitExceededException': `An AWS quota is reached: ${cause}. An account has 10,000 API keys per Region, see docs/keys.md.`,
    ' (Throttling|TooManyRequests|\\w+LimitExceeded|Provisioned)':
      'AWS still limits the rate of calls after several tries. Wait a minute, then run the same command again.',
    'API Key already exists':
      'API Gateway has the key already, from a call whose answer was lost. Run the same command again.',
    'concurrent modification':
      'API Gateway is busy with other changes in this account and Region, after 10 tries. Run the same command again.',
    ' (Resource)?NotFoundException': `A resource of the stack does not exist (${cause}). Deploy stage ${stage} again.`,
  };
}
