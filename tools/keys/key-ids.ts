import { randomInt } from 'node:crypto';

/**
 * A key ID: `key_`, 9 characters of the time in milliseconds, 7 random ones, all in Crockford's base 32
 * (https://www.crockford.com/base32.html), whose characters sort as their values do. IDs sort by age, contain
 * nothing secret, and have no letters that look like digits.
 */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const timeLength = 9; // 45 bits: until the year 3084
const randomLength = 7;

const pattern = /^key_[0-9a-hjkmnp-tv-z]{16}$/;

/**
 * @param now milliseconds since the Unix epoch
 * @param drawIndex a random whole number in [0, below)
 */
export function newKeyId(now: number, drawIndex: (below: number) => number = randomInt): string {
  let time = '';
  for (let rest = now, place = 0; place < timeLength; place += 1) {
    time = alphabet[rest % alphabet.length] + time;
    rest = Math.floor(rest / alphabet.length);
  }
  const random = Array.from({ length: randomLength }, () => alphabet[drawIndex(alphabet.length)]);
  return `key_${time}${random.join('')}`;
}

export function isKeyId(text: string): boolean {
  return pattern.test(text);
}
