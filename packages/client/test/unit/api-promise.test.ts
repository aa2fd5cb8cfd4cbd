import { describe, expect, it } from 'vitest';
import { ApiPromise } from '../../src/api-promise.ts';
import { error, respond, rex, scripted } from '../support.ts';

const headers = {
  'X-Request-Id': 'r-1',
  'X-RateLimit-Limit': '60',
  'X-RateLimit-Remaining': '59',
  'X-RateLimit-Reset': '1767225660',
  'Idempotency-Replayed': 'true',
};

describe('A call', () => {
  it('gives the status, the headers, the request ID and the rate limit of a success', async () => {
    const { store } = scripted([respond(201, rex, headers)]);
    const call = store.pets.create({ name: 'Rex', categoryId: 7 });
    const { data, response, requestId, rateLimit } = await call.withResponse();
    expect(data).toBe(await call);
    expect(response.status).toBe(201);
    expect(response.headers.get('Idempotency-Replayed')).toBe('true');
    expect(requestId).toBe('r-1');
    expect(rateLimit).toEqual({ limit: 60, remaining: 59, reset: new Date('2026-01-01T00:01:00Z') });
  });

  it('gives them for a page, and says when an answer does not have them', async () => {
    const { store } = scripted([respond(200, `[${rex}]`)]);
    const { data, requestId, rateLimit } = await store.pets.list().withResponse();
    expect(data.data).toHaveLength(1);
    expect([requestId, rateLimit]).toEqual([undefined, undefined]);
  });

  it('is an ordinary promise', async () => {
    const { store } = scripted([respond(200, rex), error(404, 'pet_not_found'), respond(200, rex)]);
    const call = store.pets.get(1);
    expect(call).toBeInstanceOf(Promise);
    const name = call.then((pet) => pet.name);
    expect(name).not.toBeInstanceOf(ApiPromise);
    expect(await name).toBe('Rex');
    expect(await store.pets.get(1).catch(() => 'absent')).toBe('absent');
    let ended = false;
    await store.pets.get(1).finally(() => (ended = true));
    expect(ended).toBe(true);
  });

  // Vitest reports a rejection that nobody handles as an error of the run.
  it('that fails rejects once, however it is awaited', async () => {
    const { store } = scripted([error(404, 'pet_not_found'), error(404, 'pet_not_found')]);
    await expect(store.pets.get(1).withResponse()).rejects.toMatchObject({ status: 404 });
    await expect(store.pets.list()[Symbol.asyncIterator]().next()).rejects.toMatchObject({ status: 404 });
  });
});
