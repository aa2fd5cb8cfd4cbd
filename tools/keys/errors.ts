/** Kinds of errors, and the tool's exit code for each. */
export const exitCodes = {
  /** AWS, the network or the local service failed. */
  failed: 1,
  /** Invalid arguments. */
  usage: 2,
  /** No such key or stack. */
  not_found: 3,
  /** Not allowed in the key's state, or not confirmed. */
  refused: 4,
} as const;

/** An error for the operator: one line that says what is wrong and what to do. */
export class KeyToolError extends Error {
  override readonly name: string = 'KeyToolError';
  readonly kind: keyof typeof exitCodes;

  constructor(kind: keyof typeof exitCodes, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

export function usageError(message: string): KeyToolError {
  return new KeyToolError('usage', message);
}

/** What the tool connects to. `endpoint`: the local service, AWS if it is `undefined`. */
export interface Target {
  readonly stage: string;
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  readonly profile?: string | undefined;
}

/** Any error as one line for the operator. */
export function explain(error: unknown, target: Target | undefined): KeyToolError {
  if (error instanceof KeyToolError) return error;
  const {
    name,
    message,
    code = '',
  }: NodeJS.ErrnoException = error instanceof Error ? error : new Error(String(error));
  const cause = message.replaceAll(/\s+/g, ' ').trim();
  const text = `${code} ${name}: ${cause}`;
  const advice = Object.entries(adviceFor(code, cause, target)).find(([pattern]) =>
    new RegExp(pattern, 'i').test(text),
  )?.[1];
  return new KeyToolError('failed', advice ?? (cause || name), { cause: error });
}

/** What to do about an error, by a pattern for its code, name and message. The first that matches counts. */
function adviceFor(
  code: string,
  cause: string,
  { stage, endpoint, region = 'AWS_REGION', profile }: Partial<Target> = {},
): Record<string, string> {
  return {
    '^(ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)':
      endpoint === undefined
        ? `AWS cannot be reached (${code}). Check the network and the Region (${region}).`
        : `No service answers at ${endpoint}. Start it with "npm start", or give its port with --port.`,
    'region is missing': 'The Region is not set. Give it with --region, or set AWS_REGION.',
    'CredentialsProviderError|could not load credentials':
      profile === undefined
        ? 'AWS credentials are missing. Sign in ("aws sso login"), set AWS_PROFILE, or give a profile with --profile.'
        : `Credentials for profile ${profile} are missing. Sign in with "aws sso login --profile ${profile}".`,
    ' (ExpiredToken|TokenRefreshRequired)':
      'The AWS credentials have expired. Sign in again ("aws sso login").',
    ' (UnrecognizedClient|InvalidClientTokenId|(Invalid)?Signature|IncompleteSignature)':
      'AWS does not accept these credentials. Check which account they belong to ("aws sts get-caller-identity").',
    ' (AccessDenied|Unauthorized|NotAuthorized)': `These credentials do not allow this: ${cause}`,
    ' LimitExceededException': `An AWS quota is reached: ${cause}. An account has 10,000 API keys per Region, see docs/keys.md.`,
    ' (Throttling|TooManyRequests|\\w+LimitExceeded|Provisioned)':
      'AWS still limits the rate of calls after several tries. Wait a minute, then run the same command again.',
    'concurrent modification':
      'API Gateway is busy with other changes in this account and Region, after 10 tries. Run the same command again.',
    ' (Resource)?NotFoundException': `A resource of the stack does not exist (${cause}). Deploy stage ${stage} again.`,
  };
}
