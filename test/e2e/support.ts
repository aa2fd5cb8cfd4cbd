import { inject } from 'vitest';
import type { Plan } from '../../functions/access/plans.ts';
import { Client } from '../../tools/smoke/client.ts';
import { createKey, openKeyService } from '../../tools/keys/operations.ts';
import { localStage } from '../../tools/local-stack.ts';

/** Whether the suite aims at the service on this machine, whose keys and tables are at hand. */
export const isLocal = inject('local') !== undefined;

/** A client with a new key of its own, so that tests do not use up each other's allowance. Local only. */
export async function newClient(plan: Plan): Promise<Client> {
  const local = inject('local');
  if (local === undefined) throw new Error('Keys can only be made for the service on this machine');
  const service = await openKeyService({ stage: localStage, endpoint: local.endpoint });
  const limits = plan === 'enterprise' ? { limits: { perMinute: 60_000, perDay: 10_000_000 } } : {};
  const { key } = await createKey(service, { owner: 'e2e', plan, ...limits });
  return new Client(inject('e2e').url, key);
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
