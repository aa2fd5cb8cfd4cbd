import { createHash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * API keys: `as_<stage>_<30 random base62 characters><CRC-32 of the preceding text, 6 base62 characters>`. The prefix
 * identifies a leaked key, the checksum detects a typo without a lookup, and 30 random characters are 178 bits.
 */
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 30;
const checksumLength = 6; // 62^6 is more than 2^32.

/** A regular expression for keys. @param stage an expression for their stage */
export const keyExpression = (stage = '[a-z][a-z0-9]*') => `as_${stage}_[0-9A-Za-z]{36}`;

/**
 * Of the scheme (RFC 6750, section 2.1), only the spellings that clients use: API Gateway caches the authorizer's results
 * by the exact text of the header, so a key has as many entries as it has spellings.
 */
export const schemes = 'Bearer|bearer|BEARER';

const keyPattern = new RegExp(`^${keyExpression('([a-z][a-z0-9]*)')}$`);
const bearerPattern = new RegExp(`^(?:${schemes}) (\\S+)$`);

/** A new key of the stage. @param randomIndex returns a random whole number in [0, below) */
export function newKey(stage: string, randomIndex: (below: number) => number = randomInt): string {
  const random = Array.from({ length: randomLength }, () => alphabet[randomIndex(alphabet.length)]).join('');
  const unchecked = `as_${stage}_${random}`;
  return unchecked + checksum(unchecked);
}

/** The stage of a well-formed key with the right checksum, or `undefined`. */
export function stageOfKey(key: string): string | undefined {
  const stage = keyPattern.exec(key)?.[1];
  return key.slice(-checksumLength) === checksum(key.slice(0, -checksumLength)) ? stage : undefined;
}

/** The key in an `Authorization: Bearer <API_KEY>` header, or `undefined`. */
export function keyOfHeader(authorization: string): string | undefined {
  return bearerPattern.exec(authorization)?.[1];
}

/** SHA-256 of the whole key, in hexadecimal: the partition key of its records. 178 random bits need no salt. */
export function hashOfKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

function checksum(text: string): string {
  let value = crc32(text);
  let digits = '';
  for (let place = 0; place < checksumLength; place += 1) {
    digits = alphabet[value % alphabet.length] + digits;
    value = Math.floor(value / alphabet.length);
  }
  return digits;
}
