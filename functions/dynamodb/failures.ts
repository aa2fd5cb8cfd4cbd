import { DynamoDBServiceException } from '@aws-sdk/client-dynamodb';
import { isServerError, isThrottlingError, isTransientError } from '@smithy/core/retry';

type CallError = Parameters<typeof isTransientError>[0];

/** Whether a call failed because DynamoDB or the network did, or because its answer cannot be read. */
export function isUnavailable(error: unknown): boolean {
  if (!isError(error)) return false;
  return (
    isThrottlingError(error) ||
    isTransientError(error) ||
    isServerError(error) ||
    (error.$metadata !== undefined && !hasName(error))
  );
}

/** Whether something may have been written although its call failed: DynamoDB did not refuse it with an error that it names. */
export function mayBeWritten(error: unknown): boolean {
  // The SDK adds `$metadata` to every error of a call.
  if (!isError(error) || error.$metadata === undefined) return false;
  // An earlier attempt of the same call may have been applied.
  return (error.$metadata.attempts ?? 1) > 1 || isUnavailable(error) || !isRefusal(error);
}

/**
 * Errors of every AWS service, which precede any write. DynamoDB's own have classes.
 * https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/CommonErrors.html
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
 */
const commonRefusals: ReadonlySet<string> = new Set([
  'AccessDeniedException',
  'ExpiredTokenException',
  'IncompleteSignatureException',
  'InvalidSignatureException',
  'MissingAuthenticationTokenException',
  'RequestExpired',
  'SerializationException',
  'UnknownOperationException',
  'UnrecognizedClientException',
  'ValidationException',
]);

function isRefusal(error: CallError): boolean {
  const isOfOwnClass =
    error instanceof DynamoDBServiceException &&
    Object.getPrototypeOf(error) !== DynamoDBServiceException.prototype;
  return isOfOwnClass || commonRefusals.has(error.name);
}

/** All other fields of the SDK's type are optional. */
function isError(error: unknown): error is CallError {
  return error instanceof Error;
}

/** The SDK calls an error without a name `Unknown`. A redirection is none of DynamoDB's answers. */
function hasName(error: CallError): boolean {
  return (
    error instanceof DynamoDBServiceException &&
    error.name !== 'Unknown' &&
    (error.$metadata.httpStatusCode ?? 0) >= 400
  );
}
