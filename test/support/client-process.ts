import { createInterface } from 'node:readline';
import { AnimalStore } from '../../packages/client/src/index.ts';

/**
 * A client in a process of its own: for each line on standard input, an idempotency key, it creates an animal of that
 * name and prints its id.
 */
const [baseUrl = '', apiKey = ''] = process.argv.slice(2);
const store = new AnimalStore({ baseUrl, apiKey, integers: 'string' });
console.log('ready');
for await (const idempotencyKey of createInterface({ input: process.stdin })) {
  const { id } = await store.pets.create(
    { name: idempotencyKey, categoryId: 7, status: 'sold' },
    { idempotencyKey },
  );
  console.log(id);
}
