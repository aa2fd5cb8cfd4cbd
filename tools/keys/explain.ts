import { KeyToolError } from './errors.ts';

/** What the operator was talking to. */
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

/** Any error, as one line that says what to do. */
export function explain(error: unknown, target: Target): KeyToolError {
  if (error instanceof KeyToolError) return error;
  const { name, message, code } = describe(error);
  const failed = (text: string) => new KeyToolError('failed', text, { cause: error });

  if (code !== undefined && unreachable.has(code)) {
    return target.endpoint === undefined
      ? failed(
          `AWS cannot be reached (${code}): check the network, and the Region (${target.region ?? 'AWS_REGION'}).`,
        )
      : failed(
          `No service answers at ${target.endpoint}: start it with "npm start", or name its port with --port.`,
        );
  }
  if (/region is missing/i.test(message))
    return failed('No Region is set: name it with --region, or set AWS_REGION.');
  if (name === 'CredentialsProviderError' || /could not load credentials/i.test(message)) {
    return failed(
      target.profile === undefined
        ? 'There are no AWS credentials: sign in ("aws sso login"), set AWS_PROFILE, or name a profile with --profile.'
        : `There are no credentials for profile ${target.profile}: sign in with "aws sso login --profile ${target.profile}".`,
    );
  }
  if (expiredCredentials.has(name))
    return failed('The AWS credentials have expired: sign in again ("aws sso login").');
  if (badCredentials.has(name)) {
    return failed(
      'AWS does not accept these credentials: check which account they belong to ("aws sts get-caller-identity").',
    );
  }
  if (denied.has(name)) return failed(`These credentials may not do that: ${oneLine(message)}`);
  if (throttled.has(name)) {
    return failed(
      'AWS asks to slow down: wait a minute, then run the same command again. It takes up what was begun.',
    );
  }
  if (name === 'TransactionCanceledException') {
    return failed('Someone else is changing the same key at this moment: look at it and try again.');
  }
  if (name === 'LimitExceededException') {
    return failed(
      `AWS has no room for more: ${oneLine(message)}. An account holds 10,000 API keys in a Region, see docs/keys.md.`,
    );
  }
  if (name === 'ResourceNotFoundException' || name === 'NotFoundException') {
    return failed(
      `Something that the stack names is not there (${oneLine(message)}): deploy stage ${target.stage} again.`,
    );
  }
  return failed(oneLine(message) || name);
}

function describe(error: unknown): { name: string; message: string; code: string | undefined } {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), code: undefined };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  // Node tries several addresses and then tells what came of each.
  const inner =
    error instanceof AggregateError ? error.errors.map(describe).find((each) => each.code) : undefined;
  return { name: error.name, message: error.message, code: code ?? inner?.code };
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
