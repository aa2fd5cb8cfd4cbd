import { setTimeout } from 'node:timers/promises';
import type { APIGatewayClient } from '@aws-sdk/client-api-gateway';

/**
 * API Gateway runs changes of API keys and usage plans one at a time per account and Region. A call that overlaps
 * another gets 409 ConflictException "Unable to complete operation due to concurrent modification", which the SDK
 * does not retry; calls above the account's rate get 429.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html
 */

const longestDelay = 20_000;

/** What differs when tests run the tool. */
export interface Waiting {
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  /** A number in [0, 1). */
  readonly random: () => number;
}

export const realWaiting: Waiting = {
  sleep: (milliseconds) => setTimeout(milliseconds),
  random: Math.random,
};

/** "API Key already exists" is a ConflictException as well, and final. */
export function isBusy(error: Error): boolean {
  return error.name === 'TooManyRequestsException' || /concurrent modification/i.test(error.message);
}

/**
 * Milliseconds to wait before the next call, `undefined` for an error that is final: 1 s after the first call, then
 * twice as long each time up to 20 s, all × 0.5 to 1.5.
 *
 * @param attempt calls so far, at least 1
 * @param random a number in [0, 1)
 */
export function retryDelay(
  error: unknown,
  command: string,
  attempt: number,
  random: number,
): number | undefined {
  if (!(error instanceof Error) || attempt >= callsFor(error, command)) return undefined;
  return Math.round(Math.min(1_000 * 2 ** (attempt - 1), longestDelay) * (0.5 + random));
}

/** Calls in total. */
function callsFor(error: Error, command: string): number {
  if (isBusy(error)) return 10;
  // A key that was just created is not visible to every call yet.
  if (error.name === 'NotFoundException' && command === 'CreateUsagePlanKeyCommand') return 5;
  const { $metadata, code } = error as { $metadata?: { httpStatusCode?: number }; code?: unknown };
  const isServerError = ($metadata?.httpStatusCode ?? 0) >= 500;
  return isServerError || code === 'ECONNRESET' || error.name === 'TimeoutError' ? 3 : 1;
}

/** Makes a client retry its calls. It should be set to `maxAttempts: 1`, so that the SDK does not retry as well. */
export function retryCalls(
  client: APIGatewayClient,
  { sleep, random }: Waiting,
  notify: (message: string) => void,
): void {
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        for (let attempt = 1; ; attempt += 1) {
          try {
            return await next(args);
          } catch (error) {
            const delay = retryDelay(error, commandName, attempt, random());
            if (delay === undefined) throw error;
            notify(
              `API Gateway answered ${commandName.replace(/Command$/, '')} with ${(error as Error).name}. Trying again in ${(delay / 1000).toFixed(1)} s (call ${attempt + 1}).`,
            );
            await sleep(delay);
          }
        }
      },
    { step: 'initialize', name: 'retryCalls' },
  );
}
