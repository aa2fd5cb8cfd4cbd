import { randomInt } from 'node:crypto';

/**
 * A key ID: `key_`, 9 characters of the time in milliseconds (until the year 3084), 7 random ones, all in Crockford's
 * base 32 (https://www.crockford.com/base32.html), whose characters sort as their values do. IDs sort by age, contain
 * nothing secret, and have no letters that look like digits.
 */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const pattern = /^key_[0-9a-hjkmnp-tv-z]{16}$/;

/**
 * @param now milliseconds since the Unix epoch
 * @param drawIndex a random whole number in [0, below)
 */
export function newKeyId(now: number, drawIndex: (below: number) => number = randomInt): string {
  const digit = (place: number) => Math.floor(now / 32 ** place) % 32;
  const indexes = [8, 7, 6, 5, 4, 3, 2, 1, 0].map(digit);
  for (let count = 0; count < 7; count += 1) indexes.push(drawIndex(32));
  return `key_${indexes.map((index) => alphabet[index]).join('')}`;
}

export function isKeyId(text: string): boolean {
  return pattern.test(text);
}
