import { KeyToolError } from './errors.ts';
import { StaleRecordError } from './records.ts';

/** What the tool was talking to. */
export interface Target {
  readonly stage: string;
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  readonly profile?: string | undefined;
}

const unreachable = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/;

/** Any error as one line that says what is wrong and what to do. */
export function explain(error: unknown, target: Target): KeyToolError {
  if (error instanceof KeyToolError) return error;
  if (error instanceof StaleRecordError) return new KeyToolError('refused', error.message, { cause: error });
  return new KeyToolError('failed', adviceFor(describe(error), target), { cause: error });
}

function adviceFor({ name, message, code = '' }: Described, target: Target): string {
  const { stage, endpoint, region = 'AWS_REGION', profile } = target;
  const cause = message.replaceAll(/\s+/g, ' ').trim();
  const is = (names: RegExp) => names.test(name);
  if (unreachable.test(code)) {
    return endpoint === undefined
      ? `AWS cannot be reached (${code}). Check the network and the Region (${region}).`
      : `No service answers at ${endpoint}. Start it with "npm start", or give its port with --port.`;
  }
  if (/region is missing/i.test(message))
    return 'No Region is set. Give it with --region, or set AWS_REGION.';
  if (is(/^CredentialsProviderError$/) || /could not load credentials/i.test(message)) {
    return profile === undefined
      ? 'There are no AWS credentials. Sign in ("aws sso login"), set AWS_PROFILE, or give a profile with --profile.'
      : `There are no credentials for profile ${profile}. Sign in with "aws sso login --profile ${profile}".`;
  }
  if (is(/^(ExpiredToken(Exception)?|TokenRefreshRequired)$/))
    return 'The AWS credentials have expired. Sign in again ("aws sso login").';
  if (is(/^(UnrecognizedClientException|InvalidClientTokenId|(Invalid)?Signature\w*|IncompleteSignature)$/))
    return 'AWS does not accept these credentials. Check which account they belong to ("aws sts get-caller-identity").';
  if (is(/^(AccessDenied(Exception)?|UnauthorizedException|NotAuthorized)$/))
    return `These credentials do not allow that: ${cause}`;
  if (is(/^(Throttling(Exception)?|TooManyRequestsException|\w*LimitExceeded|Provisioned\w+Exception)$/))
    return 'AWS still limits the rate of calls after several tries. Wait a minute, then run the same command again.';
  if (/concurrent modification/i.test(message))
    return 'API Gateway is busy with other changes in this account and Region, after 10 tries. Run the same command again.';
  if (is(/^LimitExceededException$/))
    return `A quota of AWS is reached: ${cause}. An account has 10,000 API keys per Region, see docs/keys.md.`;
  if (is(/^(Resource)?NotFoundException$/))
    return `A resource of the stack does not exist (${cause}). Deploy stage ${stage} again.`;
  return cause || name;
}

interface Described {
  readonly name: string;
  readonly message: string;
  readonly code: string | undefined;
}

function describe(error: unknown): Described {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), code: undefined };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  // Node tries several addresses and reports one error for each.
  const inner =
    error instanceof AggregateError ? error.errors.map(describe).find((each) => each.code) : undefined;
  return { name: error.name, message: error.message, code: code ?? inner?.code };
}
