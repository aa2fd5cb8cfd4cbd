import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { AnimalStore } from '../../packages/client/src/index.ts';
import { forwardTo } from '../support/forwarder.ts';
import { rounds } from '../support/rounds.ts';
import { inParallel, isLocal, newClient } from './support.ts';

/** How many sold animals of each name, of those whose name starts so. */
async function countByName(store: AnimalStore, start: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for await (const { name } of store.pets.list({ status: 'sold' })) {
    if (name.startsWith(start)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

/** Creates animals of these names through a proxy that loses one of five answers. @returns how many were lost */
async function createLossily(apiKey: string, names: readonly string[], removeIdempotencyKeys: boolean) {
  // oxlint-disable-next-line eslint/no-restricted-properties -- of an HTTP URL
  const { origin, pathname } = new URL(inject('e2e').url);
  let attempts = 0;
  const proxy = await forwardTo(origin, {
    answer: ({ headers }) => {
      if (removeIdempotencyKeys) delete headers['idempotency-key'];
      return false;
    },
    losesAnswer: () => {
      attempts += 1;
      return attempts % 5 === 0;
    },
  });
  onTestFinished(() => proxy.close());
  const baseUrl = proxy.endpoint + pathname;
  const store = new AnimalStore({ baseUrl, apiKey, maxRetries: 20, maxRetryDelay: 1_000 });
  await inParallel(names, atOnce, (name) => store.pets.create({ name, categoryId: 7, status: 'sold' }));
  return Math.floor(attempts / 5);
}

/** Milliseconds: thousands of requests on a busy machine. */
const timeout = 600_000;

const safe = rounds({ full: 1_000, sample: 40 });
const unsafe = rounds({ full: 100, sample: 15 });
const races = rounds({ full: 200, sample: 5 });
/** The service starts an execution environment of a function for each request at the same time. */
const atOnce = rounds({ full: 20, sample: 8 });

describe.runIf(isLocal)('Creations by the client', { timeout }, () => {
  it(`add each of ${safe} animals once while 20 % of the answers are lost; without idempotency keys they add duplicates`, async () => {
    const { key: apiKey } = await newClient('enterprise');
    const direct = new AnimalStore({ baseUrl: inject('e2e').url, apiKey });
    const run = apiKey.slice(-6);

    const names = Array.from({ length: safe }, (_, index) => `safe ${run} ${index}`);
    const lost = await createLossily(apiKey, names, false);
    // Every fifth of the attempts, which are the creations and the lost answers themselves.
    expect(lost).toBeGreaterThanOrEqual(Math.floor((safe - 1) / 4));
    const counts = await countByName(direct, `safe ${run} `);
    expect(counts.size).toBe(safe);
    expect([...counts].filter(([, count]) => count !== 1)).toEqual([]);

    const unsafeNames = Array.from({ length: unsafe }, (_, index) => `unsafe ${run} ${index}`);
    const lostWithoutKeys = await createLossily(apiKey, unsafeNames, true);
    const total = [...(await countByName(direct, `unsafe ${run} `)).values()].reduce(
      (sum, count) => sum + count,
      0,
    );
    expect(lostWithoutKeys).toBeGreaterThanOrEqual(Math.floor((unsafe - 1) / 4));
    expect(total).toBe(unsafe + lostWithoutKeys);
  });

  it(`from two processes with one idempotency key add one animal, which both get (${races} rounds)`, async () => {
    const { key: apiKey } = await newClient('enterprise');
    const clients = await Promise.all([startClient(apiKey), startClient(apiKey)]);
    const run = apiKey.slice(-6);
    for (let round = 0; round < races; round += 1) {
      const answers = clients.map((client) => client.create(`race ${run} ${round}`));
      const [one, other] = await Promise.all(answers);
      expect(one).toMatch(/^\d+$/);
      expect(other).toBe(one);
    }
    const counts = await countByName(new AnimalStore({ baseUrl: inject('e2e').url, apiKey }), `race ${run} `);
    expect([...counts.values()]).toEqual(Array.from({ length: races }, () => 1));
  });
});

async function startClient(apiKey: string) {
  const script = fileURLToPath(new URL('../support/client-process.ts', import.meta.url));
  const child = spawn(process.execPath, [script, inject('e2e').url, apiKey], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill());
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error('The client process ended.');
    return value;
  };
  expect(await next()).toBe('ready');
  return {
    create: (idempotencyKey: string): Promise<string> => {
      child.stdin.write(`${idempotencyKey}\n`);
      return next();
    },
  };
}
