/**
 * Many HTTP clients in a process of their own. Each has one connection and sends the next request as soon as it has
 * the answer to the last one. Arguments: URL, number of clients, seconds. Prints one line of JSON for each status.
 */
import { Agent, get } from 'node:http';
import { argv } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';

const [url, clients, seconds] = z
  .tuple([z.string(), z.coerce.number(), z.coerce.number()])
  .parse(argv.slice(2));

interface Tally {
  answers: number;
  slowestMs: number;
  totalMs: number;
}

const tallies: Record<string, Tally> = {};
const end = performance.now() + seconds * 1000;
const agent = new Agent({ keepAlive: true, maxSockets: Infinity });

/** @returns the status, or the code of the error */
function send(): Promise<string> {
  return new Promise((resolve) => {
    get(url, { agent }, (response) => {
      response.resume();
      response.on('end', () => resolve(String(response.statusCode)));
      response.on('error', ({ message }) => resolve(message));
    }).on('error', (error) => resolve('code' in error ? String(error.code) : error.message));
  });
}

async function run(): Promise<void> {
  while (performance.now() < end) {
    const startedAt = performance.now();
    const status = await send();
    const tookMs = performance.now() - startedAt;
    const tally = (tallies[status] ??= { answers: 0, slowestMs: 0, totalMs: 0 });
    tally.answers += 1;
    tally.totalMs += tookMs;
    tally.slowestMs = Math.max(tally.slowestMs, tookMs);
    // A connection that was refused: without a pause this is a busy loop.
    if (Number.isNaN(Number(status))) await sleep(100);
  }
}

await Promise.all(Array.from({ length: clients }, run));
agent.destroy();
console.log(JSON.stringify(tallies));
