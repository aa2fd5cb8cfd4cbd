import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { localEndpoint } from '../../../tools/keys/local-service.ts';

const usual = 'http://127.0.0.1:3000';

test('the last local service is used while it runs, unless --port names another', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const last = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect(await localEndpoint(undefined, last)).toBe(last);
  expect(await localEndpoint(8080, last)).toBe('http://127.0.0.1:8080');
  server.close();
  await once(server, 'close');
  expect(await localEndpoint(undefined, last)).toBe(usual);
});
