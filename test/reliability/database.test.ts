import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createKey } from '../../tools/operators/keys/commands/create.ts';
import { openKeyService } from '../../tools/operators/keys/service.ts';
import { type LocalService, serve } from '../../tools/contributors/local/serve.ts';
import { localStage, synthesizeLocal } from '../../tools/contributors/local/stack.ts';
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
    database: databaseOfTests,
    dataDirectory: directory,
    onProgress: (line) => void (restarts += line.includes('Restarting it') ? 1 : 0),
  });
});

afterAll(async () => {
  await stack.stop();
  await rm(directory, { recursive: true, force: true });
});

async function newClient({ endpoint, credentials, url } = stack): Promise<Client> {
  const service = await openKeyService({ stage: localStage, endpoint, credentials });
  const { key } = await createKey(service, { owner: 'reliability', plan: 'enterprise', ...limits });
  return new Client(url, key);
}

/** The process of the database, which is a child of the one that answers at its address. */
async function databaseAt(endpoint: string): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-ww', '-eo', 'pid=,ppid=,args=']);
  const processes = stdout.split('\n').map((line) => line.trim().split(/\s+/));
  const keeper = processes.find(([, , ...args]) =>
    args.join(' ').includes(`"port":${new URL(endpoint).port},`),
  );
  return Number(processes.find(([, parent]) => parent === keeper?.[0])?.[0]);
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
    process.kill(await databaseAt(stack.dynamodbEndpoint), 'SIGKILL');
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
  const pid = await databaseAt(stack.dynamodbEndpoint);
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
    // A client whose first attempt is still under way sends two at once.
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

test('a database in memory that stands still for 10 seconds is 503 for requests under way, and clients that go away end nothing', async () => {
  const failures: Error[] = [];
  const assembly = join(directory, 'assembly');
  const onFailure = (error: Error) => void failures.push(error);
  const service = await serve({ assembly, database: 'dynoxide', onFailure });
  onTestFinished(() => service.stop());
  const client = await newClient(service);
  await warmUp(client);
  const kept = expectPet(await client.post('{"name":"Kept","categoryId":1}'), 201);
  const pid = await databaseAt(service.dynamodbEndpoint);
  const { hostname: host, port } = new URL(service.url);
  const goAway = async (lines: readonly string[], at: number): Promise<void> => {
    const socket = connect({ host, port: at });
    socket.on('error', () => {});
    socket.write(`${lines.join('\r\n')}\r\n\r\n`, () => socket.resetAndDestroy());
    await once(socket, 'close');
  };
  process.kill(pid, 'SIGSTOP');
  const answers: Reply[] = [];
  const until = Date.now() + 10_000;
  const clients = Array.from({ length: 4 }, async () => {
    while (Date.now() < until)
      answers.push(
        await client.send({ path: `/pets/${kept.id}` }),
        await client.post('{"name":"Rex","categoryId":1}'),
      );
  });
  const toService = ['GET /v1/pets HTTP/1.1', 'Host: 127.0.0.1', `Authorization: Bearer ${client.key}`];
  const toDatabase = ['POST / HTTP/1.1', 'Host: 127.0.0.1', 'Content-Length: 0'];
  for (let each = 1; each <= 400; each += 1) {
    await goAway(toService, Number(port));
    await goAway(toDatabase, Number(new URL(service.dynamodbEndpoint).port));
  }
  await Promise.all(clients);
  process.kill(pid, 'SIGCONT');
  const statuses = new Set(answers.map(({ status }) => status));
  report('database in memory paused', { answers: answers.length, statuses: [...statuses] });
  expect([...statuses]).toEqual([503]);
  await expect
    .poll(async () => (await client.send({ path: `/pets/${kept.id}` })).text, { timeout: 60_000 })
    .toContain('Kept');
  expect(failures).toEqual([]);
});
