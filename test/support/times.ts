import type { UnixSeconds } from '../../functions/runtime/unix-time.ts';

export function at(seconds: number): UnixSeconds {
  return seconds as UnixSeconds;
}
