import { isClockSkewError, isThrottlingError, isTransientError } from '@smithy/core/retry';
import type { MiddlewareStack, SdkError } from '@smithy/types';

/**
 * Retries of calls to AWS, in place of the SDK's own (`maxAttempts: 1`), which give up after three calls and do not know
 * API Gateway's 409.
 */

/**
 * API Gateway runs changes of API keys and usage plans one at a time per account and Region. A call that overlaps
 * another gets 409 ConflictException "Unable to complete operation due to concurrent modification".
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html
 *
 * "API Key already exists" is a ConflictException as well, but final.
 */
export function isBusy(error: unknown): boolean {
  return (
    error instanceof Error &&
    (isThrottlingError(error as SdkError) || /concurrent modification/i.test(error.message))
  );
}

/** An error of a call: of the SDK, or of Node.js with its code. */
type CallError = SdkError & { readonly code?: string };

/** No connection was made, so the call was not executed. */
function isUnreachable({ code = '' }: CallError): boolean {
  return /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN)$/.test(code);
}

/** Whether the call may have been executed. */
function isLost(error: CallError): boolean {
  if (isBusy(error) || isUnreachable(error) || isClockSkewError(error)) return false;
  // The answer is none of AWS: the SDK cannot parse it.
  return isTransientError(error) || error.message.includes('Deserialization error');
}

/** How often a call is made in total, at most. */
function callsFor(error: CallError, command: string): number {
  // The limit is that of the account's API keys. It does not end by itself.
  if (error.name === 'LimitExceededException') return 1;
  // This was the first call: nothing was done yet, and the service is not there.
  if (isUnreachable(error)) return command === 'DescribeStacksCommand' ? 1 : 10;
  // A new API Gateway key is not visible to every call at first.
  if (error.name === 'NotFoundException' && command === 'CreateUsagePlanKeyCommand') return 5;
  return isBusy(error) || isTransientError(error) ? 10 : 1;
}

/**
 * Milliseconds to wait before the next call: 1 s after the first, then twice as long each time up to 20 s, all × 0.5
 * to 1.5. `undefined` for an error that is final.
 *
 * @param attempt calls so far, at least 1
 * @param random a number in [0, 1)
 */
export function retryDelay(error: CallError, command: string, attempt: number, random: number) {
  if (attempt >= callsFor(error, command)) return undefined;
  return Math.round(Math.min(1_000 * 2 ** (attempt - 1), 20_000) * (0.5 + random));
}

/** Final errors of calls of which one may have been executed. */
const doubtful = new WeakSet<object>();

/** Whether AWS may have done what failed with this error, because an answer was lost. */
export function mayBeDone(error: unknown): boolean {
  return typeof error === 'object' && error !== null && doubtful.has(error);
}

interface Client {
  readonly middlewareStack: Pick<MiddlewareStack<object, object>, 'add'>;
}

interface Waiting {
  readonly notify: (message: string) => void;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
}

/** Makes a client retry its calls. */
export function retryCalls<T extends Client>(client: T, { notify, sleep }: Waiting): T {
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        const operation = commandName.replace(/Command$/, '');
        let anyLost = false;
        for (let attempt = 1; ; attempt += 1) {
          try {
            return await next(args);
          } catch (thrown) {
            const error = thrown as CallError;
            anyLost ||= isLost(error);
            const delay = retryDelay(error, commandName, attempt, Math.random());
            if (delay === undefined) {
              if (anyLost) doubtful.add(error);
              throw error;
            }
            const wait = `${(delay / 1000).toFixed(1)} s (call ${attempt + 1})`;
            notify(`${operation} failed (${error.code ?? error.name}). Trying again in ${wait}.`);
            await sleep(delay);
          }
        }
      },
    { step: 'initialize', name: 'retryCalls' },
  );
  return client;
}
