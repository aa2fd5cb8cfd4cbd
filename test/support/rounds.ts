/** Whether to run every round: in CI or with FULL=1. Otherwise tests that repeat others with another variant run fewer. */
export const isFullRun = process.env['CI'] !== undefined || process.env['FULL'] !== undefined;

/** How often a long repetition runs. */
export function rounds({ full, sample }: { readonly full: number; readonly sample: number }): number {
  return isFullRun ? full : sample;
}
