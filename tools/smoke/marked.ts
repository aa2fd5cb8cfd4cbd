import assert from 'node:assert/strict';
import { eventually } from './check.ts';
import type { Client } from './client.ts';
import { expectPet, expectPets, type PetSeen } from './expectations.ts';

/** The animals that the checks add. */

/**
 * Their name. They are `sold`, so that nobody comes to adopt them; of the other statuses one is added to a store that
 * has none of that status at all.
 */
export const mark = 'smoke test, please ignore';

/** A body for `POST /pets`. @param categoryId JSON */
export function marked(categoryId: string, status: PetSeen['status'] = 'sold'): string {
  return `{"name":"${mark}","status":"${status}","categoryId":${categoryId}}`;
}

export async function addMarked(client: Client, status: PetSeen['status']): Promise<PetSeen> {
  return expectPet(await client.post(marked('1', status)), 201);
}

/** Sold animals that the checks of listings need: one more than the smallest page that they ask for whole. */
export const enough = 6;

/** Who has been through this: a service that lists none would be given more and more of them. */
const ensured = new WeakSet<Client>();

/** Adds sold animals to a store with fewer than `enough`, and waits until they are listed. Once for a client. */
export async function ensureListed(client: Client): Promise<void> {
  if (ensured.has(client)) return;
  ensured.add(client);
  const list = async () => expectPets(await client.send({ path: `/pets?limit=${enough}&status=sold` }));
  const there = (await list()).length;
  if (there >= enough) return;
  for (let count = there; count < enough; count += 1) await addMarked(client, 'sold');
  await eventually(client, async () => {
    const { length } = await list();
    assert.ok(
      length >= enough,
      `${enough - there} sold animals were added to ${there}, yet ${length} are listed`,
    );
  });
}
