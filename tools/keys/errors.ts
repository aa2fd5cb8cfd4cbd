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

/** An error for the operator: one line that says what is wrong and what to do. */
export class KeyToolError extends Error {
  override readonly name: string = 'KeyToolError';
  readonly kind: keyof typeof exitCodes;

  constructor(kind: keyof typeof exitCodes, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** What the tool was talking to. */
export interface Target {
  readonly stage?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  readonly profile?: string | undefined;
}

/** Any error as one line that says what is wrong and what to do. */
export function explain(error: unknown, target: Target): KeyToolError {
  if (error instanceof KeyToolError) return error;
  const { name, message, code } = describe(error);
  const cause = message.replaceAll(/\s+/g, ' ').trim();
  const advice = adviceFor(`${name}: ${cause}`, code, cause, target);
  return new KeyToolError('failed', advice ?? (cause || name), { cause: error });
}

const unreachable = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/;

function adviceFor(
  text: string,
  code: string,
  cause: string,
  { stage, endpoint, region = 'AWS_REGION', profile }: Target,
): string | undefined {
  if (unreachable.test(code)) {
    return endpoint === undefined
      ? `AWS cannot be reached (${code}). Check the network and the Region (${region}).`
      : `No service answers at ${endpoint}. Start it with "npm start", or give its port with --port.`;
  }
  const noCredentials =
    profile === undefined
      ? 'There are no AWS credentials. Sign in ("aws sso login"), set AWS_PROFILE, or give a profile with --profile.'
      : `There are no credentials for profile ${profile}. Sign in with "aws sso login --profile ${profile}".`;
  const advice: readonly (readonly [pattern: RegExp, advice: string])[] = [
    [/region is missing/i, 'No Region is set. Give it with --region, or set AWS_REGION.'],
    [/^CredentialsProviderError|could not load credentials/i, noCredentials],
    [
      /^(ExpiredToken|TokenRefreshRequired)/,
      'The AWS credentials have expired. Sign in again ("aws sso login").',
    ],
    [
      /^(UnrecognizedClient|InvalidClientTokenId|(Invalid)?Signature|IncompleteSignature)/,
      'AWS does not accept these credentials. Check which account they belong to ("aws sts get-caller-identity").',
    ],
    [/^(AccessDenied|Unauthorized|NotAuthorized)/, `These credentials do not allow that: ${cause}`],
    [
      /^LimitExceededException/,
      `A quota of AWS is reached: ${cause}. An account has 10,000 API keys per Region, see docs/keys.md.`,
    ],
    [
      /^(Throttling|TooManyRequests|\w+LimitExceeded|Provisioned)/,
      'AWS still limits the rate of calls after several tries. Wait a minute, then run the same command again.',
    ],
    [
      /concurrent modification/i,
      'API Gateway is busy with other changes in this account and Region, after 10 tries. Run the same command again.',
    ],
    [
      /^(Resource)?NotFoundException/,
      `A resource of the stack does not exist (${cause}). Deploy stage ${stage} again.`,
    ],
  ];
  return advice.find(([pattern]) => pattern.test(text))?.[1];
}

function describe(error: unknown): { name: string; message: string; code: string } {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), code: '' };
  // Node tries several addresses and reports one error for each.
  const [first = error] = error instanceof AggregateError ? (error.errors as Error[]) : [];
  const code = 'code' in first && typeof first.code === 'string' ? first.code : '';
  return { name: error.name, message: error.message, code };
}
