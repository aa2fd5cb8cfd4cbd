import { DynamoDBServiceException, ResourceNotFoundException } from '@aws-sdk/client-dynamodb';
import { describe, expect, test } from 'vitest';
import { isUnavailable, mayBeWritten } from '../../../functions/dynamodb/failures.ts';

const answer = (attempts: number, httpStatusCode = 400) => ({
  message: '',
  $metadata: { attempts, httpStatusCode },
});

const ofOwnClass = (attempts: number) => new ResourceNotFoundException(answer(attempts));
const named = (name: string, attempts = 1, httpStatusCode = 400) =>
  new DynamoDBServiceException({ name, $fault: 'client', ...answer(attempts, httpStatusCode) });

/** https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/CommonErrors.html, and those of signatures and credentials */
const refusalsOfEveryService = [
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
];

describe('an error of a write', () => {
  test.each<[string, unknown]>([
    ['of a class of DynamoDB', ofOwnClass(1)],
    ...refusalsOfEveryService.map(
      (name) => [`that every AWS service has, ${name}`, named(name)] as [string, unknown],
    ),
    ['that is not from a call', new TypeError('a bug')],
    ['that is none', 'text'],
  ])('%s: nothing is written', (_, error) => {
    expect({ mayBeWritten: mayBeWritten(error), isUnavailable: isUnavailable(error) }).toEqual({
      mayBeWritten: false,
      isUnavailable: false,
    });
  });

  test.each([
    ['of a class of DynamoDB, after an attempt whose answer was lost', ofOwnClass(2)],
    ['that every AWS service has, after such an attempt', named('AccessDeniedException', 2)],
    ['with a name that is not known', named('NewException')],
  ])('%s: something may be written, but DynamoDB is available', (_, error) => {
    expect({ mayBeWritten: mayBeWritten(error), isUnavailable: isUnavailable(error) }).toEqual({
      mayBeWritten: true,
      isUnavailable: false,
    });
  });

  test.each([
    ['without a name', named('Unknown')],
    ['of a redirection', named('NewException', 1, 307)],
    ['of the server', named('InternalServerError', 1, 500)],
    ['of the server, with a status that the SDK does not repeat', named('NewException', 1, 501)],
    ['of throttling', named('ThrottlingException')],
  ])('%s: DynamoDB is unavailable', (_, error) => {
    expect({ mayBeWritten: mayBeWritten(error), isUnavailable: isUnavailable(error) }).toEqual({
      mayBeWritten: true,
      isUnavailable: true,
    });
  });
});
