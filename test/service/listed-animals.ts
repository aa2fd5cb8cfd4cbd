import * as z from 'zod/mini';
import { petStatuses } from '../../functions/pets/schema.ts';
import { domainName } from '../support/events.ts';
import type { Reply } from '../support/lambda.ts';
import type { Key, World } from './world.ts';

/** An animal and nothing else, with the fields of docs/interface.md, Pet. */
export const pet = z.strictObject({
  id: z.bigint(),
  name: z.string(),
  categoryId: z.bigint(),
  status: z.enum(petStatuses),
});
export const pets = z.array(pet);
export type Pet = z.infer<typeof pet>;

/** The base address of the service. */
export const base = `https://${domainName}/v1`;

/** Limits that no test reaches. */
export const ample = { perMinute: 60_000, perDay: 1_000_000 };

/** Animals of former times, newest first, the statuses taking turns. @param first the largest ID */
export function store(world: World, count: number, first = 1_000): Pet[] {
  const all = Array.from({ length: count }, (_, index) => ({
    id: BigInt(first - index),
    name: `seed ${index}`,
    categoryId: 7n,
    status: petStatuses[index % petStatuses.length]!,
  }));
  for (const each of all) world.put('pets', each);
  return all;
}

/** The path and query of the following page, as `Link` gives it. @throws Error for any other link */
export function nextOf({ headers: { Link: link } }: Pick<Reply, 'headers'>): string | undefined {
  if (link === undefined) return undefined;
  const target = /^<([^>]+)>; rel="next"$/.exec(link)?.[1];
  if (target?.startsWith(`${base}/pets?`) !== true) throw new Error(`No link to a following page: ${link}`);
  return target.slice(base.length);
}

/** The pages from this one on, found by following `Link`. @throws Error if they do not end */
export async function everyPage(world: World, key: Key, first: string): Promise<Pet[][]> {
  const pages: Pet[][] = [];
  for (let path: string | undefined = first; path !== undefined;) {
    const answer = await world.send(key, `GET ${path}`);
    pages.push(z.parse(pets, answer.body));
    path = nextOf(answer);
    if (pages.length > 1_000) throw new Error(`More than 1,000 pages follow ${first}`);
  }
  return pages;
}
