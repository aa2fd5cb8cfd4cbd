import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fixedPlans } from '../../functions/access/plans.ts';
import { newPetId } from '../../functions/pets/ids.ts';

// The figures and the claims of docs/scale.md about cost, index shards and cells.

/** Numbers in [0, 1), the same in every run: https://en.wikipedia.org/wiki/Linear_congruential_generator */
function randomNumbers(): () => number {
  let state = 12_345;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const noon = Date.parse('2026-04-01T12:00:00Z');

test('the fullest of 16 index shards gets a tenth more than its part of the creations of a second', () => {
  const random = randomNumbers();
  const shards = 16;
  const perShard = 900;
  let most = 0;
  for (let second = 0; second < 50; second += 1) {
    const creations = new Map<bigint, number>();
    for (let each = 0; each < shards * perShard; each += 1) {
      const now = noon + second * 1_000 + (each * 1_000) / (shards * perShard);
      const shard = newPetId(now, random()) % BigInt(shards);
      creations.set(shard, (creations.get(shard) ?? 0) + 1);
    }
    most = Math.max(most, ...creations.values());
  }
  expect(most / perShard).toBeGreaterThan(1.05);
  expect(most / perShard).toBeLessThan(1.11);
});

test.each([
  ['free', 2, 5],
  ['free', 4, 9],
  ['free', 10, 15],
  ['pro', 2, 2],
  ['pro', 4, 4],
  ['pro', 10, 7],
  ['business', 2, 1],
  ['business', 4, 2],
  ['business', 10, 4],
] as const)(
  'a %s key whose requests go to %i cells at random loses %i percent of its limit',
  (plan, cells, percent) => {
    const random = randomNumbers();
    const { perMinute } = fixedPlans[plan];
    const share = Math.floor(perMinute / cells);
    const minutes = 2_000;
    let rejected = 0;
    for (let minute = 0; minute < minutes; minute += 1) {
      const counts = Array.from({ length: cells }, () => 0);
      for (let request = 0; request < perMinute; request += 1) {
        const cell = Math.floor(random() * cells);
        if (counts[cell]! < share) counts[cell]! += 1;
        else rejected += 1;
      }
    }
    expect(Math.round((100 * rejected) / (perMinute * minutes))).toBe(percent);
  },
);

/** US dollars a month. https://aws.amazon.com/api-gateway/pricing/, us-east-1 */
function apiGatewayCost(requests: number): number {
  const tiers = [
    [333e6, 3.5],
    [1e9, 2.8],
    [20e9, 2.38],
    [Infinity, 1.51],
  ] as const;
  let from = 0;
  let sum = 0;
  for (const [to, perMillion] of tiers) {
    sum += (Math.max(Math.min(requests, to) - from, 0) / 1e6) * perMillion;
    from = to;
  }
  return sum;
}

test('docs/scale.md has the cost of 100,000 lists a second, with the lower prices of many requests', () => {
  expect(apiGatewayCost(21e9)).toBeCloseTo(333 * 3.5 + 667 * 2.8 + 19_000 * 2.38 + 1_000 * 1.51);
  const list = /^\| `GET \/pets\?status=…`, 20 animals \| +([\d.]+) .* ([\d.]+) \|$/m;
  const [, gateway, sum] = list.exec(readFileSync('docs/cost.md', 'utf8'))!.map(Number);
  const requestsPerDay = 100_000 * 86_400;
  const gatewayPerDay = apiGatewayCost(30 * requestsPerDay) / 30;
  const sumPerDay = (requestsPerDay / 1e6) * (sum! - gateway!) + gatewayPerDay;
  const rounded = (value: number, to: number) => (Math.round(value / to) * to).toLocaleString('en-US');
  const text = readFileSync('docs/scale.md', 'utf8').replaceAll('\n', ' ');
  expect(text).toContain(`about US $${rounded(sumPerDay, 100)} a day`);
  expect(text).toContain(
    `${Math.round((100 * gatewayPerDay) / sumPerDay)} %: ${rounded(gatewayPerDay, 50)},`,
  );
});
