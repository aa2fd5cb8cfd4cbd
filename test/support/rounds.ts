/** How often a long repetition runs: in full in CI or with FULL=1, otherwise a sample. */
export function rounds({ full, sample }: { readonly full: number; readonly sample: number }): number {
  return process.env['CI'] === undefined && process.env['FULL'] === undefined ? sample : full;
}
