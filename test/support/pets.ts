import * as z from 'zod/mini';
import { petStatuses } from '../../functions/pets/schema.ts';
import { domainName } from './events.ts';
import type { Reply } from './lambda.ts';
import type { Service } from './service.ts';

/** An animal and nothing else, with the fields of docs/interface.md, Pet. */
export const pet = z.strictObject({
  id: z.bigint(),
  name: z.string(),
  categoryId: z.bigint(),
  status: z.enum(petStatuses),
});
export const pets = z.array(pet);
type Pet = z.infer<typeof pet>;

/** The base address of the service. */
export const base = `https://${domainName}/v1`;

export async function create(service: Service, body: unknown): Promise<Pet> {
  return z.parse(pet, (await service.post(body)).body);
}

/** The path and query of the following page, as `Link` gives it. @throws Error for any other link */
export function nextOf({ headers: { Link: link } }: Reply): string | undefined {
  if (link === undefined) return undefined;
  const target = /^<([^>]+)>; rel="next"$/.exec(link)?.[1];
  if (target?.startsWith(`${base}/pets?`) !== true) throw new Error(`No link to a following page: ${link}`);
  return target.slice(base.length);
}

/** More than any test has. */
const maxPages = 1_000;

/** The pages from this one on, found by following `Link`. @throws Error if they do not end */
export async function everyPage(service: Service, first: string): Promise<Pet[][]> {
  const pages: Pet[][] = [];
  for (let path: string | undefined = first; path !== undefined;) {
    const answer = await service.get(path);
    pages.push(z.parse(pets, answer.body));
    path = nextOf(answer);
    if (pages.length > maxPages) throw new Error(`More than ${maxPages} pages follow ${first}`);
  }
  return pages;
}
