/**
 * A process of its own that keeps a number of requests under way for a while. It is forked with the address, the key, how
 * many at once and for how many milliseconds.
 */
import { Agent, request } from 'node:http';

export interface Shot {
  /** Milliseconds. */
  readonly latencies: readonly number[];
  /** Answers by status; 0 stands for no answer at all. */
  readonly statuses: Readonly<Record<number, number>>;
  /** Processor time of this process in milliseconds. */
  readonly cpu: number;
}

const [url = '', key = '', concurrency = '', duration = ''] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: Number(concurrency) });
const headers = { Authorization: `Bearer ${key}` };

function send(): Promise<number> {
  return new Promise((done) => {
    const outgoing = request(url, { agent, headers }, (answer) => {
      answer.resume().once('end', () => done(answer.statusCode ?? 0));
    });
    outgoing.once('error', () => done(0)).end();
  });
}

const latencies: number[] = [];
const statuses: Record<number, number> = {};
const end = performance.now() + Number(duration);
const cpu = process.cpuUsage();
await Promise.all(
  Array.from({ length: Number(concurrency) }, async () => {
    while (performance.now() < end) {
      const start = performance.now();
      const status = await send();
      latencies.push(performance.now() - start);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  }),
);
const { user, system } = process.cpuUsage(cpu);
process.send?.({ latencies, statuses, cpu: (user + system) / 1_000 } satisfies Shot, () => process.exit());
