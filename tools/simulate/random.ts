/** Random numbers in [0, 1), the same ones for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** From here on the normal distribution is indistinguishable for our purpose. */
const largeMean = 30;

/** How many of many independent clients call within a second, when `mean` do on average. */
export function poisson(mean: number, random: () => number): number {
  if (mean >= largeMean) {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal));
  }
  let count = 0;
  for (let product = random(); product > Math.exp(-mean); product *= random()) count += 1;
  return count;
}
