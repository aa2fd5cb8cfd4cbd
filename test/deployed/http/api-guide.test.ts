import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isLocal, newClient } from './support.ts';

const run = promisify(execFile);
const pages = await Promise.all(['api', 'write-a-client'].map((name) => readFile(`docs/${name}.md`, 'utf8')));
const commands = [...pages.join('\n').matchAll(/^( *)```sh\n([^]*?)^ *```$/gm)]
  .map(([, indent = '', code = '']) => code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
  .filter((code) => !code.startsWith('export '));
const program = commands.find((command) => command.startsWith('python3 '))!;

/** Runs a command of the page in a shell, as a reader who pastes it. */
const paste = (command: string, env: Readonly<Record<string, string>>) =>
  run('bash', ['--norc', '-euo', 'pipefail', '-c', command], { env: { ...process.env, ...env } });

describe.runIf(isLocal)('docs/api.md and docs/write-a-client.md', () => {
  it('have commands that work when pasted one after the other', async () => {
    const { baseUrl: API, key: KEY } = await newClient('enterprise');
    const outputs: string[] = [];
    // The pages have the reader send the first request again, and say that the program can run again.
    for (const command of [...commands, commands[0]!, program])
      outputs.push((await paste(command, { API, KEY })).stdout);
    const [curl = '', curlRetry = '', python = '', repeated = '', pythonAgain] = outputs;
    expect(curl).toMatch(/^HTTP\/1\.1 201 [^]*HTTP\/1\.1 200 /);
    expect(curlRetry).toMatch(/^\[\{"id":\d+,.+\}\]$/);
    expect(curl).not.toMatch(/^Idempotency-Replayed:/im);
    expect(repeated).toMatch(/^HTTP\/1\.1 201 [^]*^Idempotency-Replayed: true\r$/im);
    const [id = 'none'] = /"id":\d+/.exec(curl) ?? [];
    expect(/"id":\d+/.exec(repeated)?.[0]).toBe(id);
    expect(python).toMatch(/^\{'id': \d+, 'name': 'Bella', [^]*\n(?:\d+ .+\n){10,}$/);
    // The second run adds nothing: it gets the same animal, and lists it once. Other tests add animals to the same store.
    const [added = 'none'] = /(?<='id': )\d+/.exec(python) ?? [];
    expect(pythonAgain).toContain(`{'id': ${added}, `);
    for (const printed of [python, pythonAgain])
      expect(printed?.match(new RegExp(`^${added} Bella$`, 'gm'))).toHaveLength(1);
  });
});

describe('the program in docs/write-a-client.md', () => {
  const pet = { id: 1, name: 'Bella', categoryId: 7, status: 'available' };
  const whole = JSON.stringify(pet);
  const half = whole.slice(0, 20);
  const later = (seconds: number) => new Date(Date.now() + seconds * 1000).toUTCString();

  /** What goes wrong, and from how many seconds on the program tries again. A random delay is added. */
  const faults: Readonly<Record<string, [seconds: number, answer: RequestListener]>> = {
    '429 for 7 seconds': [7, (_, answer) => answer.writeHead(429, { 'Retry-After': '7' }).end()],
    '503 until a date': [58, (_, answer) => answer.writeHead(503, { 'Retry-After': later(60) }).end()],
    '503 until a date that is over': [
      1,
      (_, answer) => answer.writeHead(503, { 'Retry-After': later(-9) }).end(),
    ],
    '503 with another Retry-After': [
      1,
      (_, answer) => answer.writeHead(503, { 'Retry-After': 'soon' }).end(),
    ],
    '502 without Retry-After': [1, (_, answer) => answer.writeHead(502).end('<html></html>')],
    'a connection that closes at once': [1, ({ socket }) => socket.destroy()],
    'an answer that is not HTTP': [1, ({ socket }) => socket.end('SSH-2.0-OpenSSH\r\n\r\n')],
    'a connection that closes in the body': [
      1,
      (_, answer) => {
        answer.writeHead(201, { 'Content-Length': whole.length });
        answer.write(half, () => answer.destroy());
      },
    ],
    'a connection that closes in a chunked body': [
      1,
      (_, answer) => answer.writeHead(201).write(half, () => answer.destroy()),
    ],
    'half a body in a whole response': [1, (_, answer) => answer.writeHead(201).end(half)],
    'an error whose body is cut off': [
      1,
      (_, answer) => {
        answer.writeHead(503, { 'Content-Length': 100 });
        answer.write('{"code"', () => answer.destroy());
      },
    ],
  };

  /**
   * Runs the program against a server that answers as told, then well. `time.sleep` only takes a note.
   *
   * @returns what was sent, and the seconds that the program waited
   */
  async function serve(answers: readonly RequestListener[]) {
    const creations: string[] = [];
    const waiting = [...answers];
    const server = createServer((request, response) => {
      const answerWell: RequestListener = () => {
        const isCreation = request.method === 'POST';
        response.writeHead(isCreation ? 201 : 200).end(isCreation ? whole : `[${whole}]`);
      };
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        if (request.method === 'POST')
          creations.push(`${String(request.headers['idempotency-key'])} ${body}`);
        (waiting.shift() ?? answerWell)(request, response);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const folder = await mkdtemp(join(tmpdir(), 'guide-'));
    onTestFinished(async () => {
      server.close();
      await rm(folder, { recursive: true });
    });
    const notes = join(folder, 'notes');
    await writeFile(notes, '');
    await writeFile(
      join(folder, 'sitecustomize.py'),
      `import time\ntime.sleep = lambda seconds: print(seconds, file=open(${JSON.stringify(notes)}, "a"))\n`,
    );
    const env = {
      API: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      KEY: 'key',
      PYTHONPATH: folder,
    };
    const { stdout, stderr } = await paste(program, env).catch(
      (error: { stdout: string; stderr: string }) => error,
    );
    const waited = (await readFile(notes, 'utf8')).split('\n').filter(Boolean).map(Number);
    return { stdout, stderr, waited, creations };
  }

  it.each(Object.entries(faults))('survives %s', async (_, [seconds, fault]) => {
    const { stdout, stderr, waited, creations } = await serve([fault, fault]);
    expect(stderr).toBe('');
    expect(stdout).toBe("{'id': 1, 'name': 'Bella', 'categoryId': 7, 'status': 'available'}\n1 Bella\n");
    expect(creations).toHaveLength(3);
    expect(new Set(creations).size).toBe(1);
    expect(waited).toHaveLength(2);
    for (const [attempt, each] of waited.entries()) {
      expect(each).toBeGreaterThanOrEqual(seconds);
      expect(each).toBeLessThan(seconds + 2 + 2 ** attempt);
    }
  });

  it('gives up after five retries, and at once if it would wait for longer than five minutes', async () => {
    const unavailable: RequestListener = (_, answer) => answer.writeHead(503).end('unavailable');
    const failed = await serve(Array.from({ length: 10 }, () => unavailable));
    expect(failed.stderr).toBe('HTTP Error 503: Service Unavailable: unavailable\n');
    expect(failed.creations).toHaveLength(6);
    const usedUp: RequestListener = (_, answer) =>
      answer.writeHead(429, { 'Retry-After': '3600' }).end('used up');
    const rejected = await serve([usedUp]);
    expect(rejected).toMatchObject({ stderr: 'HTTP Error 429: Too Many Requests: used up\n', waited: [] });
    const lost = await serve(
      Array.from({ length: 10 }, () => faults['a connection that closes at once']![1]),
    );
    expect(lost.stderr).toMatch(/^Traceback /);
    expect(lost.creations).toHaveLength(6);
  });

  it('shows what the service says of an invalid request', async () => {
    const { stderr } = await serve([(_, answer) => answer.writeHead(400).end('{"code":"invalid_request"}')]);
    expect(stderr).toBe('HTTP Error 400: Bad Request: {"code":"invalid_request"}\n');
  });
});
