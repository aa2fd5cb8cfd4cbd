import { inject } from 'vitest';
import type { Plan } from '../../../functions/access/plans.ts';
import { Client, type Reply } from '../../../tools/operators/smoke/client.ts';
import { createKey } from '../../../tools/operators/keys/commands/create.ts';
import { openKeyService } from '../../../tools/operators/keys/service.ts';
import { localStage } from '../../../tools/contributors/local/stack.ts';

/** Whether the suite tests the service on this machine, whose keys and tables are at hand. */
export const isLocal = inject('local') !== undefined;

export { isFullRun } from '../../support/rounds.ts';

/** A client with a new key of its own, so that tests do not use up each other's allowance. Local only. */
export async function newClient(plan: Plan): Promise<Client> {
  const local = inject('local');
  if (local === undefined) throw new Error('Keys can only be created for the service on this machine');
  const { endpoint, credentials } = local;
  const service = await openKeyService({ stage: localStage, endpoint, credentials });
  const limits = plan === 'enterprise' ? { perMinute: 60_000, perDay: 10_000_000 } : {};
  const { key } = await createKey(service, { owner: 'tests', plan, ...limits });
  service.close();
  return new Client(inject('service').url, key);
}

/** A client with a key of the plan: a new one on this machine, and elsewhere the one in the file of keys. */
export function clientOf(plan: Plan): Promise<Client> {
  const { url, keys } = inject('service');
  return keys === undefined ? newClient(plan) : Promise.resolve(new Client(url, keys[plan]));
}

/** What the `RateLimit` header says of the current minute. */
export function minuteOf(reply: Reply): { readonly remaining: number; readonly seconds: number } {
  const header = reply.headers.get('ratelimit') ?? '';
  const [, remaining, seconds] = /"minute";r=(\d+);t=(\d+)/.exec(header) ?? [];
  if (remaining === undefined) throw new Error(`${reply.request}: no minute in RateLimit: ${header}`);
  return { remaining: Number(remaining), seconds: Number(seconds) };
}

/**
 * Waits, by the clock of the service, until its minute has enough seconds left and the client has used nothing of its
 * allowance but the request that asks for it.
 *
 * @returns requests that remain in the minute, and until when it lasts at least by `performance.now()`
 */
async function freshMinute(
  client: Client,
  limit: number,
  secondsNeeded: number,
): Promise<{ readonly remaining: number; readonly until: number }> {
  for (;;) {
    const askedAt = performance.now();
    const reply = await client.send({ path: '/pets?limit=1' });
    const retryAfter = Number(reply.headers.get('retry-after') ?? Number.NaN);
    if (reply.status !== 200 && !(reply.status === 429 && retryAfter <= 60))
      throw new Error(
        `${reply.request} answered ${reply.status} (Retry-After: ${retryAfter}): ${reply.text}`,
      );
    const { remaining, seconds } =
      reply.status === 200 ? minuteOf(reply) : { remaining: 0, seconds: retryAfter };
    // The seconds that are left are rounded up.
    const until = askedAt + (seconds - 1) * 1000;
    if (remaining === limit - 1 && seconds >= secondsNeeded) return { remaining, until };
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000 + 50));
  }
}

/**
 * Runs work that needs a whole minute of the service. When it took longer than the minute, which happens on a busy
 * machine, it is repeated in another one.
 *
 * @param work gets the requests that remain in the minute
 */
export async function inOneMinute<T>(
  client: Client,
  limit: number,
  work: (remaining: number) => Promise<T>,
): Promise<{ readonly remaining: number; readonly result: T }> {
  for (let secondsNeeded = 5; ; secondsNeeded = 50) {
    const { remaining, until } = await freshMinute(client, limit, secondsNeeded);
    const result = await work(remaining);
    if (performance.now() < until) return { remaining, result };
  }
}

/** Waits for the next day of UTC unless this one lasts for so many seconds. */
export async function sameDay(seconds: number): Promise<void> {
  const left = 86_400_000 - (Date.now() % 86_400_000);
  if (left < seconds * 1000) await new Promise((resolve) => setTimeout(resolve, left));
}

/** Runs `work` for every item, `width` at a time, as that many clients would. */
export async function inParallel<T, R>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of waiting) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}
