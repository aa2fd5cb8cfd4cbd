import type { UnixSeconds } from '../../functions/runtime/unix-time.ts';

/** A clock that stands still. */
export function at(seconds: number): () => UnixSeconds {
  return () => seconds as UnixSeconds;
}
