declare const unit: unique symbol;

/** Whole seconds since the Unix epoch. A type of its own, so that no milliseconds are taken for seconds. */
export type UnixSeconds = number & { readonly [unit]: 'seconds since the Unix epoch' };

/** @param milliseconds since the Unix epoch */
export function toUnixSeconds(milliseconds: number): UnixSeconds {
  return Math.floor(milliseconds / 1000) as UnixSeconds;
}
