import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { expectPets, nextOf } from '../../../tools/operators/smoke/expectations.ts';
import { clientOf, inParallel } from './support.ts';

it('a page of 100 animals is compressed for a client that asks for it, and a single animal is not', async () => {
  const client = await clientOf('enterprise');
  const animals = Array.from({ length: 101 }, () => ({ name: randomUUID(), categoryId: 1, status: 'sold' }));
  await inParallel(animals, 4, (animal) => client.post(JSON.stringify(animal)));
  let path = '';
  const ask = (coding: string) => client.send({ path, headers: { 'Accept-Encoding': coding } });
  const count = async (): Promise<number> => {
    // Other tests add animals to the same store, but not below the newest one of now.
    const newest = await client.send({ path: '/pets?limit=1&status=sold' });
    path = `/pets${new URL(nextOf(newest)!).search.replace('limit=1', 'limit=100')}`;
    return expectPets(await ask('identity')).length;
  };
  // A listing shows a creation within a moment, not at once.
  await expect.poll(count, { timeout: 20_000 }).toBe(100);
  const plain = await ask('identity');
  expect(plain.headers.has('content-encoding')).toBe(false);
  for (const coding of ['gzip', 'deflate', 'gzip, deflate, br']) {
    const answer = await ask(coding);
    expect(answer.headers.get('content-encoding')).toBe(coding.split(',')[0]);
    expect(Number(answer.headers.get('content-length'))).toBeLessThan(plain.text.length / 2);
    expect(answer.text).toBe(plain.text);
    expect([...answer.headers.keys()]).toEqual(expect.arrayContaining([...plain.headers.keys()]));
  }
  const one = await client.send({
    path: '/pets?limit=1&status=sold',
    headers: { 'Accept-Encoding': 'gzip' },
  });
  expect(one.headers.has('content-encoding')).toBe(false);
});
