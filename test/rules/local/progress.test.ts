import { expect, onTestFinished, test, vi } from 'vitest';
import { Progress } from '../../../tools/contributors/local/progress.ts';

test('something is seen at least every three seconds until the service is ready', () => {
  vi.useFakeTimers();
  const print = vi.spyOn(console, 'log').mockReturnValue();
  onTestFinished(() => {
    vi.useRealTimers();
    print.mockRestore();
  });
  const seen = () => print.mock.calls.splice(0).map(([line]) => String(line).replace(/^[\d:]{8} /, ''));
  const progress = new Progress(false);
  vi.advanceTimersByTime(2_999);
  expect(seen()).toEqual(['Loading (3 s)']);
  progress.tell('Synthesizing the stack');
  expect(seen()).toEqual(['Synthesizing the stack']);
  vi.advanceTimersByTime(8_999);
  expect(seen()).toEqual([3, 5, 8].map((seconds) => `Synthesizing the stack (${seconds} s)`));
  progress.tell('Ready');
  progress.end();
  vi.advanceTimersByTime(60_000);
  expect(seen()).toEqual(['Ready']);
  progress.tell('The database is restarted');
  vi.advanceTimersByTime(60_000);
  expect(seen()).toEqual(['The database is restarted']);
});
