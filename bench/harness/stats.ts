/** @param share in [0, 1]: 0.5 for the median */
export function quantile(values: readonly number[], share: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - (share === 0 ? 0 : 1))]!;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function round(value: number, digits = 1): number {
  return Number(value.toFixed(digits));
}
