import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

// The cost in docs/scale.md.

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
