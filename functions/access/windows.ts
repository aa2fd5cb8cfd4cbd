/** Fixed UTC windows. All times are whole Unix seconds, which have no leap seconds. */
export const secondsPerMinute = 60;
export const secondsPerDay = 86_400;

/** Start of the window that contains `now`. */
export function windowStart(now: number, length: number): number {
  return Math.floor(now / length) * length;
}
