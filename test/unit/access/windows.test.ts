import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { secondsPerDay, secondsPerMinute, windowStart } from '../../../functions/access/windows.ts';

const moment = fc.integer({ min: 0, max: 2 ** 40 });

test('a minute begins when the seconds of UTC are zero', () => {
  fc.assert(
    fc.property(moment, (now) => {
      const start = new Date(now * 1000);
      start.setUTCSeconds(0, 0);
      expect(windowStart(now, secondsPerMinute)).toBe(start.getTime() / 1000);
    }),
  );
});

test('a day begins at midnight UTC', () => {
  fc.assert(
    fc.property(moment, (now) => {
      const start = new Date(now * 1000);
      start.setUTCHours(0, 0, 0, 0);
      expect(windowStart(now, secondsPerDay)).toBe(start.getTime() / 1000);
    }),
  );
});
