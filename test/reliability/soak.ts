import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { Command } from '@commander-js/extra-typings';
import { parseKeys } from '../../tools/contributors/local/keys.ts';
import { ToolError } from '../../tools/operators/command-line/errors.ts';
import { runAsProcess, toolOf } from '../../tools/operators/command-line/program.ts';
import { wholeNumber } from '../../tools/operators/command-line/stage-command.ts';
import { runMixedLoad } from './mixed-load.ts';

/** `npm run soak`: a steady mix of requests against `npm start`. Exits with 1 when an answer or the memory is wrong. */

const program = new Command('npm run soak --')
  .description('Sends a steady mix of requests to the service on this machine and checks every answer.')
  .option('--seconds <n>', 'how long', wholeNumber(1, 999_999), 600)
  .option('--rate <n>', 'steps a second, each of one to three requests', wholeNumber(1, 999_999), 5)
  .action(soak);
await runAsProcess(toolOf(program));

async function soak({ seconds, rate }: { readonly seconds: number; readonly rate: number }): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'soak-'));
  const service = await startService(join(directory, 'keys.json'));
  try {
    console.log(`${rate} steps a second for ${seconds} s against ${service.url}`);
    const memory: number[] = [];
    const sampling = setInterval(() => {
      void service.memoryMb().then((megabytes) => memory.push(megabytes));
    }, 1_000);
    const report = await runMixedLoad({ baseUrl: service.url, key: service.key, seconds, rate });
    clearInterval(sampling);
    const growth = memoryGrowth(memory);
    const { violations, ...figures } = report;
    console.log(
      JSON.stringify({ ...figures, violations: violations.length, memoryMb: growth }, undefined, 2),
    );
    for (const violation of violations.slice(0, 20)) console.error(violation);
    const serverErrors = Object.keys(report.statuses).filter((status) => status.startsWith('5'));
    if (violations.length > 0 || serverErrors.length > 0)
      throw new ToolError(
        'failed',
        `Answers are wrong: ${violations.length} violations, ${serverErrors.length} kinds of 5xx.`,
      );
    if (growth !== undefined && growth.end > growth.begin * 1.5)
      throw new ToolError('failed', 'The memory of the service grew by more than half between the quarters.');
  } finally {
    await service.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

/** `npm start` in a process of its own, so that its memory is not that of the clients. */
async function startService(keysFile: string) {
  const args = ['start', '--port', '0', '--quiet', '--keys-file', keysFile];
  const launcher = join(import.meta.dirname, '..', '..', 'tools', 'run.mjs');
  const child = spawn(process.execPath, [launcher, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  process.once('exit', () => child.kill());
  const exited = once(child, 'exit');
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const ready = /^ready (http:\S+)$/.exec(line)?.[1];
      if (ready !== undefined) resolve(ready);
    });
    void exited.then(() => reject(new Error('The service ended before it was ready.')));
  });
  const keys = parseKeys(keysFile, await readFile(keysFile, 'utf8'));
  return {
    url,
    key: keys.enterprise,
    memoryMb: async () => {
      const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(child.pid)]);
      return Math.round(Number(stdout) / 1024);
    },
    stop: async () => {
      child.kill('SIGINT');
      await exited;
    },
  };
}

/** Median memory of the second and of the last quarter: the first is warming up. */
function memoryGrowth(samples: readonly number[]) {
  const quarter = Math.floor(samples.length / 4);
  if (quarter < 5) return undefined;
  const median = (part: readonly number[]) => part.toSorted((a, b) => a - b)[Math.floor(part.length / 2)]!;
  return {
    begin: median(samples.slice(quarter, 2 * quarter)),
    end: median(samples.slice(-quarter)),
    peak: Math.max(...samples),
  };
}
