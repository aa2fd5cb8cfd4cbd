import * as z from 'zod/mini';
import { nextOf, type Pet, pet, pets } from '../service/animals.ts';
import type { Service } from './service.ts';

export async function create(service: Service, body: unknown): Promise<Pet> {
  return z.parse(pet, (await service.post(body)).body);
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
