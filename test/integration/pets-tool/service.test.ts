import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { captureLog, Service } from '../../support/service.ts';
import { newStore } from './support.ts';

/** What clients see of a change that the tool makes. */

let service: Service;
beforeAll(async () => {
  service = await Service.start();
  captureLog();
});

interface Pet {
  readonly id: bigint;
  readonly name: string;
}
const listed = async (query: string) =>
  ((await service.get(`/pets?limit=100${query}`)).body as Pet[]).map(({ name }) => name);

test('an animal that is sold, removed and imported again', async () => {
  const { folder, runInProd } = await newStore({}, service.tables.pets);
  const change = async (...args: string[]) => {
    const run = await runInProd([...args, '--yes']);
    expect(run).toMatchObject({ exitCode: 0 });
    return run.stdout;
  };
  const rex = { name: 'Rex', categoryId: 7 };
  const created = await service.post(rex, undefined, 'once');
  const { id } = created.body as Pet;

  await change('set-status', String(id), 'sold');
  expect((await service.get(`/pets/${id}`)).body).toMatchObject({ status: 'sold' });
  expect([await listed('&status=sold'), await listed('&status=available')]).toEqual([['Rex'], []]);

  const line = await change('remove', String(id));
  expect((await service.get(`/pets/${id}`)).status).toBe(404);
  expect(await listed('')).toEqual([]);
  // A creation that is repeated still gets its first answer, and adds nothing.
  const repeated = await service.post(rex, undefined, 'once');
  expect([repeated.status, repeated.text]).toEqual([201, created.text]);
  expect(await listed('')).toEqual([]);

  const file = join(folder, 'again.jsonl');
  await writeFile(file, line);
  await change('import', file);
  expect((await service.get(`/pets/${id}`)).body).toMatchObject({ name: 'Rex', status: 'sold' });
});
