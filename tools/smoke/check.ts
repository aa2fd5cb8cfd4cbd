import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from './client.ts';

/** A sentence of the interface, and what it takes to see it hold. */
export interface Check {
  readonly name: string;
  run(client: Client): Promise<void>;
}

/**
 * Tries until it holds, a few times at most: indexes lag behind what was just written, by any client, so what was
 * seen once may for a moment not be there.
 *
 * @throws what the last attempt threw
 */
export async function eventually(client: Client, attempt: () => Promise<void>): Promise<void> {
  for (const pause of client.retryPauses) {
    try {
      return await attempt();
    } catch {
      await sleep(pause);
    }
  }
  return attempt();
}
