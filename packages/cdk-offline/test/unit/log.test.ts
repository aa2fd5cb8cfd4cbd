import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { functionLine, requestLine, terminalLog } from '../../src/dev/log.ts';

const answered = {
  time: new Date(2026, 0, 2, 3, 4, 5).getTime(),
  method: 'GET',
  path: '/dev/things',
  query: 'limit=2',
  status: 200,
  durationMs: 12.4,
};

describe('the line of a request', () => {
  it('names the caller as the service does', () => {
    const authorizer = { principalId: 'key_1', tenant: 'north' };
    expect(
      requestLine({ ...answered, authorizer }, false, ({ tenant }) =>
        typeof tenant === 'string' ? tenant : '',
      ),
    ).toBe('03:04:05 GET  /dev/things?limit=2 200 12 ms north');
  });

  it('has time, method, path, status, milliseconds and the caller', () => {
    expect(requestLine({ ...answered, authorizer: { principalId: 'key_1' } }, false)).toBe(
      '03:04:05 GET  /dev/things?limit=2 200 12 ms key_1',
    );
  });

  it('ends after the milliseconds when the request was not authorized', () => {
    expect(requestLine({ ...answered, method: 'POST', query: '', status: 401 }, false)).toBe(
      '03:04:05 POST /dev/things 401 12 ms',
    );
  });

  it('has the first line of what was wrong with the answer of a function', () => {
    const functionError = 'Malformed Lambda proxy response\nand more';
    expect(requestLine({ ...answered, status: 502, functionError }, false)).toBe(
      '03:04:05 GET  /dev/things?limit=2 502 12 ms (Malformed Lambda proxy response)',
    );
  });

  it.each([
    [200, 32],
    [304, 36],
    [404, 33],
    [503, 31],
  ])('shows %i in the terminal colour %i', (status, colour) => {
    expect(requestLine({ ...answered, status }, true)).toContain(`\u001b[${colour}m${status}\u001b[39m`);
  });

  it('passes no control character on to the terminal', () => {
    expect(requestLine({ ...answered, path: '/dev/\u001b[2J\u009b', query: '' }, false)).toContain(
      ' /dev/%1B[2J%C2%9B ',
    );
    expect(requestLine({ ...answered, method: 'GET\u009b' }, false)).toContain(' GET%C2%9B ');
  });
});

describe('control characters of a function', () => {
  it.each([
    ['an escape sequence', 'a\u001b[2J\u009bb', String.raw`A: a\u001b[2J\u009bb`],
    ['a deletion', 'a\u007fb', String.raw`A: a\u007fb`],
    ['a tab', 'a\tb', 'A: a\tb'],
    ['a carriage return, which stands for a line feed on Lambda', 'a\rb\r\nc', 'A: a\nb\nc'],
  ])('are printed as text: %s', (_, line, printed) => {
    expect(functionLine('A', line)).toBe(printed);
  });

  it('are printed as text in log entries and errors', () => {
    const error = { name: 'Error', message: 'e\u001b', stack: 'Error: e\u001b\n  at a.ts:1' };
    const entry = { level: 'ERROR\u001b', message: 'm\u001b', errors: [error] };
    expect(functionLine('A', JSON.stringify(entry))).toBe(
      String.raw`A: ERROR\u001b m\u001b` + '\n' + String.raw`  Error: e\u001b` + '\n    at a.ts:1',
    );
  });

  it('leave JSON as it means', () => {
    const written = vi.spyOn(console, 'error').mockImplementation(() => {});
    onTestFinished(() => written.mockRestore());
    const entry = { message: 'a\u001b\u009b' };
    terminalLog({ json: true }).onLog('A', JSON.stringify(entry));
    const [[line]] = written.mock.calls as [[string]];
    expect(line).not.toMatch(/\p{Cc}/u);
    expect(JSON.parse(line)).toEqual(entry);
  });
});

describe('the line of a function', () => {
  const record = { timestamp: '2026-01-02T03:04:05Z', level: 'INFO', message: 'list 200', operation: 'list' };
  const isRepetition = (entry: Readonly<Record<string, unknown>>) => entry['operation'] === 'list';

  it("is omitted when it only repeats the request's line", () => {
    expect(functionLine('List', JSON.stringify(record), false, isRepetition)).toBeUndefined();
    expect(functionLine('List', JSON.stringify(record))).toBe('List: INFO list 200');
    const failed = JSON.stringify({ ...record, errors: [{ message: 'broken' }] });
    expect(functionLine('List', failed, false, isRepetition)).toBe('List: INFO list 200\n  Error: broken');
    const warning = JSON.stringify({ ...record, level: 'WARN' });
    expect(functionLine('List', warning, false, isRepetition)).toBe('List: WARN list 200');
  });

  it('shows the stack of each error and of its cause', () => {
    const cause = {
      name: 'TimeoutError',
      message: 'too slow',
      stack: 'TimeoutError: too slow\n    at functions/b.ts:2:1',
    };
    const errors = [
      { name: 'Error', message: 'broken', stack: 'Error: broken\n    at functions/a.ts:1:1', cause },
    ];
    expect(functionLine('List', JSON.stringify({ ...record, level: 'ERROR', errors }))).toBe(
      [
        'List: ERROR list 200',
        '  Error: broken',
        '      at functions/a.ts:1:1',
        '  Caused by TimeoutError: too slow',
        '      at functions/b.ts:2:1',
      ].join('\n'),
    );
  });

  it('shows the stack of an error that was logged with console.error', () => {
    const line = {
      level: 'ERROR',
      message: 'Failed Error: broken',
      errorType: 'Error',
      errorMessage: 'broken',
      stackTrace: ['Error: broken', '    at functions/a.ts:1:1'],
    };
    expect(functionLine('List', JSON.stringify(line))).toBe(
      'List: ERROR Failed Error: broken\n  Error: broken\n      at functions/a.ts:1:1',
    );
  });

  it('shows what a handler throws like any other error', () => {
    const cause = { errorType: 'Error', errorMessage: 'inner', stack: ['Error: inner', '    at b.ts:2:1'] };
    const failure = {
      errorType: 'TypeError',
      errorMessage: 'outer',
      stack: ['TypeError: outer', '    at /app/a.ts:1:1', '    at node:internal/a:1:1'],
    };
    const line = (entry: object) =>
      `2026-01-02T03:04:05.678Z\t1-2\tERROR\tInvoke Error ${JSON.stringify(entry)}`;
    expect(functionLine('Get', line({ ...failure, cause }))).toBe(
      'Get: ERROR TypeError: outer\n    at /app/a.ts:1:1\nCaused by Error: inner\n    at b.ts:2:1',
    );
    const text = { errorType: 'string', errorMessage: 'just text', stack: [] };
    expect(functionLine('Get', line(text))).toBe('Get: ERROR string: just text');
    expect(functionLine('Get', '2026-01-02T03:04:05.678Z\t1-2\tERROR\tInvoke Error {')).toBe(
      'Get: ERROR Invoke Error {',
    );
  });

  it('shows what a developer logs, as text or as an object', () => {
    expect(functionLine('A', JSON.stringify({ level: 'INFO', message: 'here' }))).toBe('A: INFO here');
    expect(functionLine('A', JSON.stringify({ level: 'DEBUG', message: { x: 1 } }))).toBe('A: DEBUG {"x":1}');
    expect(functionLine('A', 'plain text')).toBe('A: plain text');
  });

  it('has no second time beside that of the request', () => {
    const at = '2026-01-02T03:04:05.678Z';
    expect(functionLine('A', `${at}\t11111111-2222\tINFO\there`)).toBe('A: INFO here');
    expect(functionLine('A', `${at}\t\tERROR\tbad\tand worse`)).toBe('A: ERROR bad\tand worse');
    expect(functionLine('A', `${at} RequestId: 1 Error: Task timed out`)).toBe(
      'A: RequestId: 1 Error: Task timed out',
    );
    expect(functionLine('A', `${at}\t11111111-2222\tINFO\there`, true)).toBeUndefined();
  });

  it('is omitted below level ERROR when only errors are printed', () => {
    expect(functionLine('A', JSON.stringify({ level: 'WARN', message: 'here' }), true)).toBeUndefined();
    expect(functionLine('A', 'plain text', true)).toBeUndefined();
    expect(functionLine('A', JSON.stringify({ level: 'ERROR', message: 'bad' }), true)).toBe('A: ERROR bad');
  });
});
