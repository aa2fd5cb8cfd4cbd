import { describe, expect, test, vi } from 'vitest';
import { toCallerContext } from '../../../functions/access/caller.ts';
import { hashOfKey, newKey } from '../../../functions/access/keys.ts';
import { functionLine, requestLine, requestLog } from '../../../tools/contributors/local/request-log.ts';

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

const answered = {
  time: new Date(2026, 0, 2, 3, 4, 5).getTime(),
  method: 'GET',
  path: '/v1/pets',
  query: 'limit=2',
  status: 200,
  durationMs: 12.4,
};

describe('the line of a request', () => {
  test('has the time of this machine, the milliseconds, and the plan and key ID of the caller', () => {
    const authorizer = { principalId: 'key_1', plan: 'pro' };
    expect(requestLine({ ...answered, authorizer }, false)).toBe(
      '03:04:05 GET  /v1/pets?limit=2 200 12 ms pro key_1',
    );
    expect(requestLine({ ...answered, query: '', status: 401 }, false)).toBe(
      '03:04:05 GET  /v1/pets 401 12 ms',
    );
  });

  test('has the first line of what was wrong with the answer of a function', () => {
    const functionError = 'Malformed Lambda proxy response\nand more';
    expect(requestLine({ ...answered, status: 502, functionError }, false)).toBe(
      '03:04:05 GET  /v1/pets?limit=2 502 12 ms (Malformed Lambda proxy response)',
    );
  });

  test.each([
    [200, 32],
    [304, 36],
    [404, 33],
    [503, 31],
  ])('shows %i in the terminal colour %i', (status, colour) => {
    expect(requestLine({ ...answered, status }, true)).toContain(`\u001b[${colour}m${status}\u001b[39m`);
  });

  test('passes no control character on to the terminal', () => {
    const sent = { ...answered, method: 'GET\u009b', path: '/v1/\u001b[2J\u009b', query: '' };
    expect(requestLine(sent, false)).toContain(String.raw` GET\u009b /v1/\u001b[2J\u009b `);
  });
});

describe('the line of a function', () => {
  const record = { level: 'INFO', message: 'list 200', operation: 'list' };
  const line = (entry: object, errorsOnly = false) => functionLine('A', JSON.stringify(entry), errorsOnly);

  test("is omitted when it only repeats the request's line", () => {
    expect(line(record)).toBeUndefined();
    expect(line({ level: 'INFO', message: record })).toBeUndefined();
    expect(line({ ...record, errors: [{ message: 'broken' }] })).toBe('A: INFO list 200\n  Error: broken');
    expect(line({ ...record, level: 'WARN' })).toBe('A: WARN list 200');
  });

  test('shows the stack of each error and of its cause, without frames of Node.js', () => {
    const cause = { name: 'TimeoutError', message: 'slow', stack: 'TimeoutError: slow\n    at b.ts:2:1' };
    const stack = 'Error: broken\n    at file:///a%20b.ts:1:1\n    at node:internal/a:1:1';
    const errors = [{ name: 'Error', message: 'broken', stack, cause }];
    expect(line({ ...record, level: 'ERROR', errors })).toBe(
      'A: ERROR list 200\n  Error: broken\n      at /a b.ts:1:1\n  Caused by TimeoutError: slow\n      at b.ts:2:1',
    );
    const stackTrace = ['Error: broken', '    at a.ts:1:1'];
    expect(line({ level: 'ERROR', message: 'Failed', errorType: 'Error', stackTrace })).toBe(
      'A: ERROR Failed\n  Error: broken\n      at a.ts:1:1',
    );
  });

  test('shows what a handler throws like any other error', () => {
    const failure = {
      errorType: 'TypeError',
      errorMessage: 'outer',
      stack: ['TypeError: outer', '    at a.ts:1:1'],
    };
    const thrown = (entry: object) =>
      line({ level: 'ERROR', message: `Invoke Error ${JSON.stringify(entry)}` });
    expect(thrown(failure)).toBe('A: ERROR TypeError: outer\n    at a.ts:1:1');
    expect(thrown({ errorType: 'string', errorMessage: 'text', stack: [] })).toBe('A: ERROR string: text');
  });

  test('has no second time, and passes no control character on to the terminal', () => {
    expect(functionLine('A', '2026-01-02T03:04:05.678Z Task timed out')).toBe('A: Task timed out');
    expect(functionLine('A', 'a\u001b[2J\u007f\tb\rc')).toBe(String.raw`A: a\u001b[2J\u007f` + '\tb\nc');
    expect(line({ level: 'ERROR', message: 'm\u001b' })).toBe(String.raw`A: ERROR m\u001b`);
  });

  test('is omitted below level ERROR when only errors are printed', () => {
    expect(line({ level: 'WARN', message: 'here' }, true)).toBeUndefined();
    expect(functionLine('A', 'plain text', true)).toBeUndefined();
    expect(line({ level: 'ERROR', message: 'bad' }, true)).toBe('A: ERROR bad');
  });
});
