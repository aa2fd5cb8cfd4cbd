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
    memory.remember('a', { ...unused, minute, day, minuteCount: counted, dayCount: counted });
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
    if (sent % 5 === 0) memory.remember('a', { ...unused, minute, day, minuteCount: sent, dayCount: sent });
    else expect(memory.decide('a', limits, now).kind).toBe('admitted');
  }
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
