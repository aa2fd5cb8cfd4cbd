import { execFile } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, inject, it } from 'vitest';
import { checks } from '../../tools/smoke/checks.ts';
import { Client } from '../../tools/smoke/client.ts';
import { runChecks } from '../../tools/smoke/run.ts';
import { isLocal, newClient } from './support.ts';

interface Message {
  status: number;
  readonly headers: Headers;
  body: string;
}

/** A service that is the real one but for a single fault. */
interface Fault {
  readonly name: string;
  readonly answer?: (message: Message, request: { method: string; path: string }) => void;
  /** Takes the place of the Authorization header that the client sent. */
  readonly authorize?: (authorization: string | undefined, key: string) => string | undefined;
}

const faults: readonly Fault[] = [
  {
    name: 'an error without its status field',
    answer: (message) => {
      if (message.status >= 400) message.body = message.body.replace(/,?"status":\d+/, '');
    },
  },
  {
    name: 'an error with a field too many',
    answer: (message) => {
      if (message.status >= 400) message.body = message.body.replace(/^\{/, '{"detail":"x",');
    },
  },
  { name: 'a missing rate header', answer: ({ headers }) => headers.delete('x-ratelimit-remaining') },
  {
    name: 'a rate header missing on 404 alone',
    answer: ({ status, headers }) => {
      if (status === 404) headers.delete('x-ratelimit-reset');
    },
  },
  {
    name: 'a request without a key let in',
    authorize: (authorization, key) => authorization ?? `Bearer ${key}`,
  },
  { name: 'any key let in', authorize: (authorization, key) => authorization && `Bearer ${key}` },
  {
    name: 'a following page that starts over',
    answer: ({ headers }) => {
      const link = headers.get('link');
      if (link !== null) headers.set('link', link.replace(/&cursor=[^>]+/, ''));
    },
  },
  { name: 'no following page', answer: ({ headers }) => headers.delete('link') },
  {
    name: 'oldest first',
    answer: (message, { method, path }) => {
      if (method === 'GET' && /\/pets(\?|$)/.test(path) && message.status === 200) {
        message.body = `[${(message.body.match(/\{[^}]*\}/g) ?? []).toReversed().join(',')}]`;
      }
    },
  },
  {
    name: 'an inexact categoryId',
    answer: (message) => {
      message.body = message.body.replace('9223372036854775807', '9223372036854775808');
    },
  },
];

/** A proxy on loopback that hands everything on to the service, with the fault put in. */
async function serveFaulty(fault: Fault, url: string, key: string) {
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET', url: path = '/', headers } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const authorization = fault.authorize
      ? fault.authorize(headers.authorization, key)
      : headers.authorization;
    const answer = await fetch(new URL(url).origin + path, {
      method,
      headers: {
        ...(headers['content-type'] !== undefined && { 'Content-Type': headers['content-type'] }),
        ...(authorization !== undefined && { Authorization: authorization }),
      },
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    });
    const message: Message = {
      status: answer.status,
      headers: new Headers(answer.headers),
      body: await answer.text(),
    };
    // Links lead back through the proxy, as they would on another host name.
    for (const name of ['link', 'location']) {
      const value = message.headers.get(name);
      if (value !== null) message.headers.set(name, value.replaceAll(url, base()));
    }
    for (const name of ['content-length', 'transfer-encoding', 'content-encoding', 'connection']) {
      message.headers.delete(name);
    }
    fault.answer?.(message, { method, path });
    response.writeHead(message.status, Object.fromEntries(message.headers)).end(message.body);
  };
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}${new URL(url).pathname}`;
  return { base: base(), stop: () => server.closeAllConnections() ?? server.close() };
}

describe.runIf(isLocal)('the smoke test', () => {
  it('holds on the real service, also through a proxy that changes nothing', async () => {
    const { key } = await newClient('business');
    const proxy = await serveFaulty({ name: 'none' }, inject('e2e').url, key);
    const results = await runChecks(checks, new Client(proxy.base, key));
    proxy.stop();
    expect(results.filter(({ failure }) => failure !== undefined)).toEqual([]);
  });

  it.each(faults)('fails on $name', async (fault) => {
    const { key } = await newClient('business');
    const proxy = await serveFaulty(fault, inject('e2e').url, key);
    const results = await runChecks(checks, new Client(proxy.base, key));
    proxy.stop();
    expect(results.filter(({ failure }) => failure !== undefined)).not.toEqual([]);
  });

  it('reports in plain words, and its exit code tells a pipeline', async () => {
    const { url } = inject('e2e');
    const { key } = await newClient('business');
    const good = await smoke('--url', url, '--key', key);
    expect(good.output).toMatch(/\d+ passed, 0 failed/);
    expect(good.code).toBe(0);
    expect(good.output).not.toContain(key);
    const bad = await smoke('--url', url, '--key', `${key.slice(0, -1)}_`);
    expect(bad.code).toBe(1);
    const wrong = await smoke('--url', 'nowhere', '--key', key);
    expect(wrong).toMatchObject({ code: 2, output: expect.stringContaining('nowhere is no URL') });
    expect(await smoke('--key', key)).toMatchObject({ code: 2 });
  });
});

function smoke(...args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, ['tools/smoke.ts', ...args], (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, output: stdout + stderr }),
    );
  });
}
