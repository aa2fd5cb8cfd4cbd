import { AnimalStore, type Pets } from 'animal-store-client';
import { expect, test } from 'vitest';
import { unmatchedRoute } from '../../functions/operations.ts';
import { entryOf, unusedOperations } from '../support/used-operations.ts';

/** Arguments of each method. */
const calls: { readonly [Method in keyof Pets]: Parameters<Pets[Method]> } = {
  list: [],
  create: [{ name: 'Rex', categoryId: 7 }],
  get: [7],
};

test('each method of the client is for an operation; a warning names the operations without one', async () => {
  const used: string[] = [];
  const store = new AnimalStore({
    baseUrl: 'https://store.test/v1',
    apiKey: 'key',
    maxRetries: 0,
    fetch: async (input, init) => {
      const { method, url } = new Request(input, init);
      used.push(entryOf(method, url.replace('https://store.test/v1', '')));
      return new Response(null, { status: 404 });
    },
  });
  for (const [method, values] of Object.entries(calls))
    await expect(Reflect.apply(store.pets[method as keyof Pets], store.pets, values)).rejects.toThrow();
  expect(used).not.toContain(unmatchedRoute);
  for (const entry of unusedOperations(used))
    console.warn(
      `The client has no method for ${entry}. Its next release needs one (packages/client/src/store.ts).`,
    );
});
