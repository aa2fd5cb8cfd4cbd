import { getEventListeners } from 'node:events';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { AbortError, TimeoutError } from '../../src/index.ts';
import { baseUrl, error, lost, never, respond, rex, scripted } from '../support.ts';

const caught = (promise: Promise<unknown>) => promise.catch((thrown: unknown) => thrown);

describe('A call', () => {
  it('ends an attempt at its time-out and tries again', async () => {
    const { store, sent } = scripted([never, respond(200, rex)], { maxRetryDelay: 1 });
    expect(await store.pets.get(1, { timeout: 20 })).toMatchObject({ name: 'Rex' });
    expect(sent).toHaveLength(2);
    const { store: stuck } = scripted([never], { maxRetries: 0, timeout: 20 });
    await expect(stuck.pets.get(1)).rejects.toBeInstanceOf(TimeoutError);
    await expect(scripted([never], { maxRetries: 0, timeout: 20 }).store.pets.get(1)).rejects.toThrow(
      `No complete answer arrived from ${baseUrl} within 20 ms.`,
    );
  });

  it('that is aborted says why: before, during and between attempts', async () => {
    const reason = new Error('no longer needed');
    const { store, sent } = scripted([never]);
    const before = await caught(store.pets.get(1, { signal: AbortSignal.abort(reason) }));
    expect(before).toBeInstanceOf(AbortError);
    expect(before).toMatchObject({
      name: 'AbortError',
      code: 'aborted',
      message: 'The call was aborted by its signal (no longer needed).',
      cause: reason,
      url: `${baseUrl}/pets/1`,
      attempts: 0,
    });
    expect(sent).toHaveLength(0);

    const during = new AbortController();
    const call = caught(store.pets.get(1, { signal: during.signal }));
    await expect.poll(() => sent.length).toBe(1);
    during.abort(reason);
    expect(await call).toMatchObject({ code: 'aborted', cause: reason, attempts: 1 });

    const { store: waiting, sent: attempts } = scripted([error(503, 'x', { 'Retry-After': '50' })]);
    const between = new AbortController();
    const retry = caught(waiting.pets.get(1, { signal: between.signal }));
    await expect.poll(() => attempts.length).toBe(1);
    between.abort(reason);
    expect(await retry).toMatchObject({ code: 'aborted', cause: reason, attempts: 1 });
  });

  it('that creates an animal and is aborted, by time or by hand, can be repeated with its key', async () => {
    const { store, sent } = scripted([never, never]);
    const pet = { name: 'Rex', categoryId: 7 };
    const byTime = await caught(store.pets.create(pet, { signal: AbortSignal.timeout(20) }));
    expect(byTime).toBeInstanceOf(AbortError);
    expect(byTime).toMatchObject({ cause: { name: 'TimeoutError' }, method: 'POST', attempts: 1 });
    const byHand = new AbortController();
    const call = caught(store.pets.create(pet, { signal: byHand.signal }));
    await expect.poll(() => sent.length).toBe(2);
    byHand.abort();
    const keys = [byTime, await call].map((failure) => (failure as AbortError).idempotencyKey);
    expect(keys).toEqual(sent.map(({ headers }) => headers.get('Idempotency-Key')));
    const unsent = await caught(store.pets.create(pet, { signal: AbortSignal.abort(), idempotencyKey: 'k' }));
    expect(unsent).toMatchObject({ attempts: 0, idempotencyKey: 'k' });
  });

  it.each([
    ['onRequest', 0],
    ['onResponse', 1],
    ['onRetry', 1],
  ])('ends at once when %s aborts its signal', async (hook, requests) => {
    const reason = new Error('no longer needed');
    const controller = new AbortController();
    const abort = () => controller.abort(reason);
    const { store, sent } = scripted([error(503, 'x', { 'Retry-After': '50' })], { [hook]: abort });
    const failure = await caught(store.pets.get(1, { signal: controller.signal }));
    expect(failure).toMatchObject({ code: 'aborted', cause: reason, attempts: requests });
    expect(sent).toHaveLength(requests);
  });

  it('shares one listener with all calls of its signal, and ends with them', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    // Node.js warns of more than ten listeners, as of a leak.
    const { store, sent } = scripted(Array.from({ length: 40 }, () => never));
    const calls = Array.from({ length: 40 }, (_, id) => caught(store.pets.get(id, { signal })));
    await expect.poll(() => sent.length).toBe(40);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    controller.abort();
    for (const failure of await Promise.all(calls)) expect(failure).toBeInstanceOf(AbortError);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('leaves no timer and no listener behind', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { signal } = new AbortController();
    const { store } = scripted([respond(200, rex), lost], { maxRetries: 0 });
    await store.pets.get(1, { signal });
    await caught(store.pets.get(1, { signal }));
    expect(vi.getTimerCount()).toBe(0);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});
