/** Fixed UTC windows. All times are whole Unix seconds, which have no leap seconds, so arithmetic suffices. */
export const secondsPerMinute = 60;
export const secondsPerDay = 86_400;

/** Start of the window that holds `now`. */
export function windowStart(now: number, length: number): number {
  return Math.floor(now / length) * length;
}
