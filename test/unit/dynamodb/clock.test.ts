import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { atCorrectTime, Clock } from '../../../functions/dynamodb/clock.ts';

const noon = Date.parse('2026-07-01T12:00:00Z');
const hour = 3_600_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: noon });
});

afterEach(() => {
  vi.useRealTimers();
});

/** An answer whose `Date` is `date`, to a request that was sent `age` milliseconds ago. */
function answered(clock: Clock, date: number, age = 5): void {
  clock.correct(new Date(date).toUTCString(), Date.now() - age);
}

describe('the clock', () => {
  test.each([0, 1, 500, 999])('that is right is not moved by the whole seconds of a Date: %d ms', (ms) => {
    vi.setSystemTime(noon + ms);
    const clock = new Clock();
    answered(clock, noon + ms);
    expect(clock.milliseconds()).toBe(noon + ms);
    expect(clock.seconds()).toBe(noon / 1000);
  });

  test.each([5.1, 60, 1_440].flatMap((minutes) => [minutes, -minutes]))(
    'that is %d minutes off is right within the second of a Date and the time of the call',
    (minutes) => {
      const clock = new Clock();
      answered(clock, noon - minutes * 60_000);
      expect(Math.abs(clock.milliseconds() - (noon - minutes * 60_000))).toBeLessThanOrEqual(1_005);
    },
  );

  test.each([1_000, 60_000, hour])('is not moved by an answer that is %d ms late', (late) => {
    const clock = new Clock();
    answered(clock, noon - late, late + 5);
    expect(clock.milliseconds()).toBe(noon);
  });

  test.each([
    undefined,
    '',
    'yesterday',
    // One answer of this date would make an environment fail for good: it has no ISO form.
    'Tue, 13 Sep 275760 00:00:00 GMT',
    'Fri, 01 Jan 2100 00:00:00 GMT',
    'Wed, 31 Dec 2025 23:59:59 GMT',
    'Thu, 01 Jan 1970 00:00:00 GMT',
    '2026-07-01T13:00:00Z',
    '1782910800000',
    'Wed, 01 Jul 2026 13:00:00 +0100',
    'Wed, 01 Jul 2026 13:00:00',
    'Mon, 01 Jul 2026 13:00:00 GMT',
    'Wed, 31 Jun 2026 13:00:00 GMT',
    'Wednesday, 01-Jul-26 13:00:00 GMT',
  ])('is not moved by the Date %j', (date) => {
    const clock = new Clock();
    clock.correct(date, noon - 5);
    expect(clock.milliseconds()).toBe(noon);
  });

  test('that was corrected is not moved back by a late answer', () => {
    const clock = new Clock();
    answered(clock, noon - hour);
    const corrected = clock.milliseconds();
    answered(clock, noon - hour - 60_000, 60_005);
    expect(clock.milliseconds()).toBe(corrected);
  });
});

describe('work that reads the clock', () => {
  const rejected = Object.assign(new Error('No.'), { name: 'InvalidSignatureException' });

  test('runs again at the correct time if DynamoDB rejects its time', async () => {
    const clock = new Clock();
    const times: number[] = [];
    const result = await atCorrectTime(clock, async () => {
      times.push(clock.seconds());
      if (times.length > 1) return 'done';
      answered(clock, noon - hour);
      throw rejected;
    });
    expect(result).toBe('done');
    expect(times[1]! - times[0]!).toBeLessThan(-3_590);
  });

  test('runs again only once', async () => {
    const clock = new Clock();
    let runs = 0;
    const work = async () => {
      runs += 1;
      answered(clock, noon + runs * hour);
      throw rejected;
    };
    await expect(atCorrectTime(clock, work)).rejects.toBe(rejected);
    expect(runs).toBe(2);
  });

  test.each([
    ['its signature is rejected at the right time', noon, rejected],
    ['it fails for another reason', noon - hour, new Error('No.')],
  ])('runs once if %s', async (_, date, error) => {
    const clock = new Clock();
    let runs = 0;
    const work = async () => {
      runs += 1;
      answered(clock, date);
      throw error;
    };
    await expect(atCorrectTime(clock, work)).rejects.toBe(error);
    expect(runs).toBe(1);
  });
});
