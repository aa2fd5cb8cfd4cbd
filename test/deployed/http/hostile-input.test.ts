import { describe, expect, inject, it } from 'vitest';
import * as z from 'zod';

const { url, key } = inject('service');

const error = z.object({ code: z.string(), message: z.string(), status: z.int() });

function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  return fetch(url + path, { ...init, headers });
}

describe('input that the gateway gets to see first', () => {
  it('a URL that is too long for it is 400 in the body as in the status', async () => {
    const response = await send(`/pets/${'9'.repeat(1_600)}`);
    expect(response.status).toBe(400);
    expect(error.parse(await response.json())).toMatchObject({ code: 'invalid_request', status: 400 });
    expect(response.headers.get('X-RateLimit-Limit')).not.toBeNull();
    expect(response.headers.get('X-Request-Id')).not.toBeNull();
  });

  it('a name in bytes that are not UTF-8 is not stored as another', async () => {
    const body = Buffer.concat([
      Buffer.from('{"categoryId":1,"name":"'),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"}'),
    ]);
    const response = await send('/pets', { method: 'POST', body });
    expect(response.status).toBe(400);
    expect(error.parse(await response.json()).message).toContain('UTF-8');
  });

  it('an id in percent-encoding is the id', async () => {
    const created = await send('/pets', { method: 'POST', body: '{"categoryId":1,"name":"Rex"}' });
    const { id } = z.object({ id: z.int() }).parse(await created.json());
    const encoded = Array.from(String(id), (digit) => `%3${digit}`).join('');
    const response = await send(`/pets/${encoded}`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ id });
  });
});
