import { execFile } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { MemoryService } from '../support/memory-service.ts';
import { isLocal, newClient } from './support.ts';

/** The command. test/unit/smoke/checks.test.ts tests what each check finds. */
describe.runIf(isLocal)('npm run smoke', () => {
  it('prints each check, and its exit code is for a pipeline', async () => {
    const { url } = inject('e2e');
    const { key } = await newClient('business');
    const good = await smoke('--url', url, '--key', key);
    expect(good.output).toMatch(/\d+ passed, 0 failed/);
    expect(good.code).toBe(0);
    expect(good.output).not.toContain(key);
    const bad = await smoke('--url', url, '--key', `${key.slice(0, -1)}_`, '--wait', '0');
    expect(bad.code).toBe(1);
    expect(bad.output).toContain('Not ready: GET /pets?limit=1 answered 401. Running the checks anyway.');
  });

  it('ends with 2 when an argument is invalid', async () => {
    const { url, key } = inject('e2e');
    for (const given of ['nowhere', new URL(url).origin, new URL(url).host + '/v1', `${url}/pets`]) {
      const wrong = await smoke('--url', given, '--key', key);
      expect(wrong).toMatchObject({
        code: 2,
        output: expect.stringContaining('It must be a base address'),
      });
    }
    expect(await smoke('--key', key)).toMatchObject({ code: 2 });
    expect(await smoke('--url', url, '--key', key, '--wait', 'long')).toMatchObject({ code: 2 });
  });

  it('reports an address that does not respond', async () => {
    const { code, output } = await smoke('--url', 'http://127.0.0.1:1/v1', '--key', 'any', '--wait', '0');
    expect(code).toBe(1);
    expect(output.trim()).toMatch(/^No response from http:\/\/127\.0\.0\.1:1\/v1: .+$/);
  });

  it('waits visibly for a key that is not effective yet', async () => {
    const service = new MemoryService(30);
    let calls = 0;
    const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const { method = '', url: path = '' } = request;
      const headers = new Headers();
      for (const name of ['authorization', 'content-type']) {
        const value = request.headers[name];
        if (typeof value === 'string') headers.set(name, value);
      }
      calls += 1;
      if (calls === 1) headers.delete('authorization');
      const answer = service.answer({ method, path, headers, body: await text(request) });
      for (const [name, value] of answer.headers) {
        response.setHeader(name, value.replaceAll(service.baseUrl, base));
      }
      response.writeHead(answer.status).end(answer.body);
    };
    const server = createServer((request, response) => void serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const { code, output } = await smoke('--url', base, '--key', service.key);
    expect(output.match(/^Not ready yet: GET \/pets\?limit=1 answered 401\./gm)).toHaveLength(1);
    expect(output).toMatch(/\d+ passed, 0 failed/);
    expect(code).toBe(0);
  });
});

function smoke(...args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, ['tools/run.mjs', 'smoke', ...args], (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, output: stdout + stderr }),
    );
  });
}
