import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { createKey } from '../../tools/operators/keys/commands/issue.ts';
import { openKeyService } from '../../tools/operators/keys/service.ts';
import { type LocalService, serve } from '../../tools/contributors/local/serve.ts';
import { localStackName, localStage, synthesizeLocal } from '../../tools/contributors/local/stack.ts';
import { Client, type Reply } from '../../tools/operators/smoke/client.ts';
import { expectError, expectPet, expectPets, nextOf } from '../../tools/operators/smoke/expectations.ts';
import { databaseOfTests } from '../support/database.ts';
import { report } from './report.ts';

/** The whole service on this machine with `--data`, and what happens when its database dies or stands still. */

const limits = { perMinute: 60_000, perDay: 10_000_000 };
let directory: string;
let stack: LocalService;
let restarts = 0;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'reliability-'));
  const assembly = join(directory, 'assembly');
  await synthesizeLocal(assembly);
  stack = await serve({
    assembly,
    stack: localStackName,
    database: databaseOfTests,
    dataDirectory: directory,
    onProgress: (line) => void (restarts += line.includes('Restarting it') ? 1 : 0),
  });
});

afterAll(async () => {
  await stack.stop();
  await rm(directory, { recursive: true, force: true });
});

async function newClient(): Promise<Client> {
  const service = await openKeyService({
    stage: localStage,
    endpoint: stack.endpoint,
    credentials: stack.credentials,
  });
  const { key } = await createKey(service, { owner: 'reliability', plan: 'enterprise', ...limits });
  return new Client(stack.url, key);
}

/** The process of the database. */
async function databaseProcess(): Promise<number> {
  const file = await readFile(join(directory, 'dynamodb', 'process.json'), 'utf8');
  return z.object({ pid: z.number() }).parse(JSON.parse(file)).pid;
}

/** Starts every function: the first invocation is not what is measured. */
async function warmUp(client: Client): Promise<void> {
  const good = async (send: () => Promise<Reply>): Promise<void> => {
    await expect.poll(async () => (await send()).status, { timeout: 120_000 }).toBeLessThan(500);
  };
  await good(() => client.send({ path: '/pets' }));
  await good(() => client.send({ path: '/pets/1' }));
  await good(() => client.post('{"name":"Rex","categoryId":1}'));
}

async function namesOfAll(client: Client): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  let path: string | undefined = '/pets?limit=100';
  while (path !== undefined) {
    const reply: Reply = await client.send({ path });
    for (const { name } of expectPets(reply)) counts.set(name, (counts.get(name) ?? 0) + 1);
    path = nextOf(reply);
  }
  return counts;
}

test('a database that is killed under load loses no acknowledged creation', async () => {
  const client = await newClient();
  await warmUp(client);
  const kills = 3;
  const acknowledged: string[] = [];
  const statuses: Record<string, number> = {};
  const stop = new AbortController();
  const clients = Array.from({ length: 8 }, async () => {
    while (!stop.signal.aborted) {
      const name = randomUUID();
      const { status } = await client.post(JSON.stringify({ name, categoryId: 1 }));
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status === 201) acknowledged.push(name);
      else await sleep(100);
    }
  });
  for (let kill = 1; kill <= kills; kill += 1) {
    const before = acknowledged.length;
    await expect.poll(() => acknowledged.length, { timeout: 120_000 }).toBeGreaterThan(before + 50);
    process.kill(await databaseProcess(), 'SIGKILL');
    await expect.poll(() => restarts, { timeout: 120_000 }).toBe(kill);
  }
  const after = acknowledged.length;
  await expect.poll(() => acknowledged.length, { timeout: 120_000 }).toBeGreaterThan(after + 50);
  stop.abort();
  await Promise.all(clients);

  const listed = await namesOfAll(client);
  const lost = acknowledged.filter((name) => !listed.has(name));
  const twice = acknowledged.filter((name) => (listed.get(name) ?? 0) > 1);
  report('database killed', { kills, statuses, lost: lost.length, twice: twice.length });
  expect({ lost, twice }).toEqual({ lost: [], twice: [] });
  expect(Object.keys(statuses).toSorted()).toEqual(['201', '503']);
});

test('a database that stands still is a 503 within 3 seconds, and repeated creations make one animal each', async () => {
  const unknownToTheAuthorizer = await newClient();
  const client = await newClient();
  await warmUp(client);
  const pid = await databaseProcess();
  const creations = Array.from({ length: 10 }, () => ({ name: randomUUID(), idempotencyKey: randomUUID() }));
  const create = ({ name, idempotencyKey }: (typeof creations)[number]): Promise<Reply> =>
    client.send({
      method: 'POST',
      path: '/pets',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey },
      body: JSON.stringify({ name, categoryId: 1 }),
    });

  const durations: number[] = [];
  const timed = async (send: () => Promise<Reply>): Promise<void> => {
    const startedAt = performance.now();
    const answer = await send();
    durations.push(performance.now() - startedAt);
    expectError(answer, 503, 'service_unavailable');
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  };
  process.kill(pid, 'SIGSTOP');
  try {
    await timed(() => client.send({ path: '/pets' }));
    await timed(() => client.send({ path: '/pets/1' }));
    await timed(() => unknownToTheAuthorizer.send({ path: '/pets' }));
    for (const creation of creations) await timed(() => create(creation));
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  for (const creation of creations) {
    // Two at once, as a client does whose first attempt is still under way.
    const answers = async () => Promise.all([create(creation), create(creation)]);
    await expect
      .poll(async () => (await answers()).map(({ status }) => status), { timeout: 120_000, interval: 500 })
      .toEqual([201, 201]);
    const [one, other] = await answers();
    expect(expectPet(one, 201).id).toBe(expectPet(other, 201).id);
  }
  const listed = await namesOfAll(client);
  const counts = creations.map(({ name }) => listed.get(name));
  report('database paused', {
    answers: durations.length,
    slowestMs: Math.round(Math.max(...durations)),
    durations: durations.map(Math.round),
    counts,
  });
  expect(counts).toEqual(creations.map(() => 1));
  expect(Math.max(...durations)).toBeLessThan(3_000);
});
