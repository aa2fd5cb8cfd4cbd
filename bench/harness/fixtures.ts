import { randomUUID } from 'node:crypto';
import { toCallerContext } from '../../functions/access/caller.ts';
import { hashOfKey, newKey } from '../../functions/access/keys.ts';
import { proxyEvent } from '../../test/support/events.ts';

/** The API key of every request, the same in every process. */
const key = newKey('prod', () => 0);
export const keyHash = hashOfKey(key);

const caller = () =>
  toCallerContext(
    // No benchmark sends that many requests.
    {
      keyHash,
      keyId: 'key_bench',
      plan: 'enterprise',
      limits: { perMinute: 1e7, perDay: 1e9 },
      expiresAt: 0,
    },
    Math.floor(Date.now() / 1000),
    60,
  );

/** Events for the measurements, which the service accepts. */
export const events = {
  list: () => proxyEvent({ resource: '/pets', query: [['status', 'available']], caller: caller() }),
  /** Each is a new creation. */
  createOnce: () =>
    proxyEvent({
      method: 'POST',
      resource: '/pets',
      headers: [
        ['Content-Type', 'application/json'],
        ['Idempotency-Key', randomUUID()],
      ],
      body: '{"name":"Bella","categoryId":3,"status":"available"}',
      caller: caller(),
    }),
  get: () =>
    proxyEvent({
      resource: '/pets/{petId}',
      path: '/pets/7',
      pathParameters: { petId: '7' },
      caller: caller(),
    }),
  authorize: () => ({
    type: 'TOKEN',
    authorizationToken: `Bearer ${key}`,
    methodArn: 'arn:aws:execute-api:eu-central-1:123456789012:abcdef1234/v1/GET/pets',
  }),
};
