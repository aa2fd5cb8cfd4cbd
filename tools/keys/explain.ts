import { KeyToolError } from './errors.ts';
import { StaleRecordError } from './records.ts';

/** What the tool was talking to. */
export interface Target {
  readonly stage: string;
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  readonly profile?: string | undefined;
}

const throttled = new Set([
  'ThrottlingException',
  'Throttling',
  'TooManyRequestsException',
  'RequestLimitExceeded',
  'ProvisionedThroughputExceededException',
]);
const badCredentials = new Set([
  'UnrecognizedClientException',
  'InvalidClientTokenId',
  'SignatureDoesNotMatch',
  'InvalidSignatureException',
  'IncompleteSignature',
]);
const expiredCredentials = new Set(['ExpiredToken', 'ExpiredTokenException', 'TokenRefreshRequired']);
const denied = new Set(['AccessDenied', 'AccessDeniedException', 'UnauthorizedException', 'NotAuthorized']);
const unreachable = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNRESET',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** Any error as one line that says what is wrong and what to do. */
export function explain(error: unknown, target: Target): KeyToolError {
  if (error instanceof KeyToolError) return error;
  if (error instanceof StaleRecordError) return new KeyToolError('refused', error.message, { cause: error });
  const { name, message, code } = describe(error);
  const failed = (text: string) => new KeyToolError('failed', text, { cause: error });

  if (code !== undefined && unreachable.has(code)) {
    return target.endpoint === undefined
      ? failed(
          `AWS cannot be reached (${code}). Check the network and the Region (${target.region ?? 'AWS_REGION'}).`,
        )
      : failed(
          `No service answers at ${target.endpoint}. Start it with "npm start", or give its port with --port.`,
        );
  }
  if (/region is missing/i.test(message))
    return failed('No Region is set. Give it with --region, or set AWS_REGION.');
  if (name === 'CredentialsProviderError' || /could not load credentials/i.test(message)) {
    return failed(
      target.profile === undefined
        ? 'There are no AWS credentials. Sign in ("aws sso login"), set AWS_PROFILE, or give a profile with --profile.'
        : `There are no credentials for profile ${target.profile}. Sign in with "aws sso login --profile ${target.profile}".`,
    );
  }
  if (expiredCredentials.has(name))
    return failed('The AWS credentials have expired. Sign in again ("aws sso login").');
  if (badCredentials.has(name)) {
    return failed(
      'AWS does not accept these credentials. Check which account they belong to ("aws sts get-caller-identity").',
    );
  }
  if (denied.has(name)) return failed(`These credentials do not allow that: ${oneLine(message)}`);
  if (throttled.has(name)) {
    return failed(
      'AWS still limits the rate of calls after several tries. Wait a minute, then run the same command again.',
    );
  }
  if (/concurrent modification/i.test(message)) {
    return failed(
      'API Gateway is busy with other changes in this account and Region, after 10 tries. Run the same command again.',
    );
  }
  if (name === 'LimitExceededException') {
    return failed(
      `A quota of AWS is reached: ${oneLine(message)}. An account has 10,000 API keys per Region, see docs/keys.md.`,
    );
  }
  if (name === 'ResourceNotFoundException' || name === 'NotFoundException') {
    return failed(
      `A resource of the stack does not exist (${oneLine(message)}). Deploy stage ${target.stage} again.`,
    );
  }
  return failed(oneLine(message) || name);
}

function describe(error: unknown): { name: string; message: string; code: string | undefined } {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), code: undefined };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  // Node tries several addresses and reports one error for each.
  const inner =
    error instanceof AggregateError ? error.errors.map(describe).find((each) => each.code) : undefined;
  return { name: error.name, message: error.message, code: code ?? inner?.code };
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
