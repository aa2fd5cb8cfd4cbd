import { execFile } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type OfflineService, serve } from 'cdk-offline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { greetingStack, greetingTemplate, removeDirectory, writeGreeting } from '../integration/greeting.ts';

/** A stack whose function takes 200 ms, and far more clients than the simulated account's concurrency. */
const slow = `export const handler = async () => {
  await new Promise((done) => setTimeout(done, 200));
  return { statusCode: 200, body: '{}' };
};`;

const tallies = z.record(
  z.string(),
  z.object({ answers: z.number(), slowestMs: z.number(), totalMs: z.number() }),
);

let assembly: string;
let service: OfflineService;

beforeAll(async () => {
  assembly = await writeGreeting(greetingTemplate(), slow);
  service = await serve({ assembly, stack: greetingStack });
  await fetch(`${service.url}/greet`);
});

afterAll(async () => {
  await service.stop();
  await removeDirectory(assembly);
});

test('3,000 clients for 12 s: what exceeds the concurrency is shed, nothing waits for 29 s, memory is bounded', async () => {
  let peak = 0;
  const sampling = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 100);
  const clients = fileURLToPath(new URL('closed-loop.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [
    clients,
    `${service.url}/greet`,
    '3000',
    '12',
  ]);
  clearInterval(sampling);
  const found = tallies.parse(JSON.parse(stdout));
  // The template has no gateway response: INTEGRATION_FAILURE is a 500.
  expect(Object.keys(found).toSorted()).toEqual(['200', '500']);
  expect(peak).toBeLessThan(1024 ** 3);
  expect((await fetch(`${service.url}/greet`)).status).toBe(200);
});

test('of 5,000 open connections 4,096 are kept', async () => {
  const { hostname: host, port } = new URL(service.url);
  const sockets: Socket[] = [];
  let closed = 0;
  for (let index = 0; index < 5_000; index += 1) {
    const socket = connect({ host, port: Number(port) });
    socket.on('error', () => {});
    socket.on('close', () => (closed += 1));
    sockets.push(socket);
  }
  await expect.poll(() => closed, { timeout: 60_000 }).toBeGreaterThanOrEqual(5_000 - 4_096);
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => closed, { timeout: 60_000 }).toBe(5_000);
  await expect.poll(async () => (await fetch(`${service.url}/greet`)).status, { timeout: 60_000 }).toBe(200);
});
