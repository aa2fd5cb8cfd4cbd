import type { APIGatewayClient } from '@aws-sdk/client-api-gateway';
import type { Hooks } from '../operator/stack.ts';

/**
 * API Gateway runs changes of API keys and usage plans one at a time per account and Region. A call that overlaps
 * another gets 409 ConflictException "Unable to complete operation due to concurrent modification", which the SDK
 * does not retry: https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html
 */

/** "API Key already exists" is a ConflictException as well, but final. */
export function isBusy(error: Error): boolean {
  return error.name === 'TooManyRequestsException' || /concurrent modification/i.test(error.message);
}

/** How often a call is made in total, at most. */
function callsFor(error: Error, command: string): number {
  if (isBusy(error)) return 10;
  // A new API Gateway key is not visible to every call at first.
  if (error.name === 'NotFoundException' && command === 'CreateUsagePlanKeyCommand') return 5;
  const { $metadata, code } = error as { $metadata?: { httpStatusCode?: number }; code?: unknown };
  const isServerError = ($metadata?.httpStatusCode ?? 0) >= 500;
  return isServerError || code === 'ECONNRESET' || error.name === 'TimeoutError' ? 3 : 1;
}

/**
 * Milliseconds to wait before the next call: 1 s after the first, then twice as long each time up to 20 s, all × 0.5
 * to 1.5. `undefined` for an error that is final.
 *
 * @param attempt calls so far, at least 1
 * @param random a number in [0, 1)
 */
export function retryDelay(error: unknown, command: string, attempt: number, random: number) {
  if (!(error instanceof Error) || attempt >= callsFor(error, command)) return undefined;
  return Math.round(Math.min(1_000 * 2 ** (attempt - 1), 20_000) * (0.5 + random));
}

/** Makes a client retry its calls, in place of the SDK's own retries (`maxAttempts: 1`). */
export function retryCalls(
  client: APIGatewayClient,
  { notify, sleep, afterStep }: Required<Omit<Hooks, 'onChange' | 'clock'>>,
): void {
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        for (let attempt = 1; ; attempt += 1) {
          try {
            const answer = await next(args);
            if (!commandName.startsWith('Get')) await afterStep(commandName.replace(/Command$/, ''));
            return answer;
          } catch (error) {
            const delay = retryDelay(error, commandName, attempt, Math.random());
            if (delay === undefined) throw error;
            const answer = `${commandName.replace(/Command$/, '')} with ${(error as Error).name}`;
            const wait = `${(delay / 1000).toFixed(1)} s (call ${attempt + 1})`;
            notify(`API Gateway answered ${answer}. Trying again in ${wait}.`);
            await sleep(delay);
          }
        }
      },
    { step: 'initialize', name: 'retryCalls' },
  );
}
