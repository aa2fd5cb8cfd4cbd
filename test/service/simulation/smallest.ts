/**
 * The fewest of the things that still fail: leaves out a half, then a quarter and so on, at last each one (Zeller's ddmin).
 * @param most how often `fails` is called
 */
export async function fewest<T>(
  things: readonly T[],
  fails: (things: readonly T[]) => Promise<boolean>,
  most = 300,
): Promise<readonly T[]> {
  let [left, calls] = [things, 0];
  for (let size = Math.ceil(things.length / 2); size > 0; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < left.length && calls < most;) {
      const rest = left.toSpliced(from, size);
      calls += 1;
      if (await fails(rest)) left = rest;
      else from += size;
    }
  }
  return left;
}
