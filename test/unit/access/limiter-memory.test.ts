import { expect, test } from 'vitest';
import { LimiterMemory } from '../../../functions/access/limiter-memory.ts';
import { unused, windowsAt } from '../../../functions/access/limiter-decisions.ts';
import { toUnixSeconds } from '../../../functions/runtime/unix-time.ts';

const now = toUnixSeconds(Date.UTC(2030, 0, 1, 12));
const limits = { perMinute: 20, perDay: 1_000 };

test('what is admitted uncounted stays within the limit when the table answers one request of ten', () => {
  const memory = new LimiterMemory();
  const { minute, day } = windowsAt(now);
  let admitted = 0;
  for (let counted = 1; counted <= 10; counted += 1) {
    memory.remember('a', { ...unused, minute, day, minuteCount: counted, dayCount: counted }, now);
    for (let request = 0; request < 9; request += 1)
      if (memory.decide('a', limits, now).kind === 'admitted') admitted += 1;
  }
  expect(admitted).toBeLessThanOrEqual(limits.perMinute);
  const later = toUnixSeconds((now + 60) * 1_000);
  expect(memory.decide('a', limits, later).kind).toBe('admitted');
});

test('a key within its limit is not rejected when writes are applied but their answers are lost', () => {
  const memory = new LimiterMemory();
  const { minute, day } = windowsAt(now);
  for (let sent = 1; sent <= limits.perMinute; sent += 1) {
    if (sent % 5 === 0)
      memory.remember('a', { ...unused, minute, day, minuteCount: sent, dayCount: sent }, now);
    else expect(memory.decide('a', limits, now).kind).toBe('admitted');
  }
});

test.each([
  ['minute', { perMinute: 3, perDay: 1_000 }],
  ['day', { perMinute: 20, perDay: 3 }],
])('a %s that an environment has rejected for stays full when the table answers once', (_window, few) => {
  const memory = new LimiterMemory();
  const { minute, day } = windowsAt(now);
  const kinds = Array.from({ length: 4 }, () => memory.decide('a', few, now).kind);
  expect(kinds).toEqual(['admitted', 'admitted', 'admitted', 'rejected']);
  // Without the three that were admitted uncounted.
  memory.remember('a', { ...unused, minute, day, minuteCount: 1, dayCount: 1 }, now);
  expect(memory.decide('a', few, now).kind).toBe('rejected');
});

test('an answer about a later window, and the end of a suspension, replace what was known', () => {
  const memory = new LimiterMemory();
  const { minute, day } = windowsAt(now);
  const full = { ...unused, minute, day, minuteCount: 20, dayCount: 20 };
  memory.remember('a', { ...full, suspendedUntil: now + 600 }, now);
  expect(memory.decide('a', limits, now).kind).toBe('suspended');
  memory.remember('a', full, now);
  expect(memory.decide('a', limits, now).kind).toBe('rejected');
  memory.remember('a', { ...full, minute: minute + 60, minuteCount: 1, dayCount: 21 }, now);
  expect(memory.decide('a', limits, now).status).toMatchObject({
    minute: { remaining: 19 },
    day: { remaining: 979 },
  });
});

test('the 1,000 keys that were used last are remembered', () => {
  const memory = new LimiterMemory();
  const decide = (key: number) => memory.decide(String(key), { perMinute: 1, perDay: 10 }, now).kind;
  for (let key = 0; key < 1_000; key += 1) expect(decide(key)).toBe('admitted');
  expect(decide(0)).toBe('rejected');
  expect(decide(1_000)).toBe('admitted');
  // Key 1 made room for key 1,000.
  expect([decide(0), decide(2), decide(1)]).toEqual(['rejected', 'rejected', 'admitted']);
});
