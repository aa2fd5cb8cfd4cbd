import { expect, test, vi } from 'vitest';
import { toCallerContext } from '../../../functions/access/caller.ts';
import { hashOfKey, newKey } from '../../../functions/access/keys.ts';
import { requestLog } from '../../../tools/contributors/local/request-log.ts';

test('the JSON log of a request has the ID of its key, and not the hash', () => {
  const print = vi.spyOn(console, 'error').mockReturnValue();
  const keyHash = hashOfKey(newKey('local'));
  const limits = { perMinute: 1, perDay: 1 };
  const context = toCallerContext({ keyHash, keyId: 'key_1', plan: 'free', limits, expiresAt: 0 }, 0, 60);
  const authorizer = { principalId: 'key_1', ...context };
  requestLog({ json: true }).onRequest({
    time: 0,
    method: 'GET',
    path: '/v1/pets',
    query: 'limit=1',
    status: 200,
    durationMs: 1,
    requestId: 'r',
    authorizer,
  });
  const [[line]] = print.mock.calls as [[string]];
  print.mockRestore();
  expect(JSON.parse(line)).toMatchObject({ status: 200, authorizer: { keyId: 'key_1', plan: 'free' } });
  expect(line).not.toContain(keyHash);
});
