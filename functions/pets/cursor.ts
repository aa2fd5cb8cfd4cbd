import { crc32 } from 'node:zlib';

/**
 * Where the next page starts, and its filter. A `cursor` is base64url of: version (1 byte), number of the filter (1 byte),
 * ID of the last pet (8 bytes, signed, big endian), text of a filter without a number, CRC-32 of these (4 bytes). The checksum
 * detects mistakes, not forgery, which would reveal nothing but the caller's own listing.
 */
export interface Position {
  /** The filter, such as `status=sold`. Undefined: all pets. */
  readonly filter: string | undefined;
  /** The next page has only smaller IDs. */
  readonly before: bigint;
}

const version = 1;
const headerSize = 10;
const checksumSize = 4;

/** The filters with a number. Part of the wire format, so there are no others: a new filter is written as text. */
const numbered = [undefined, 'status=available', 'status=pending', 'status=sold'];
const withoutNumber = -1;

export function encodeCursor({ filter, before }: Position): string {
  const number = numbered.indexOf(filter);
  const text = number === withoutNumber ? filter! : '';
  const bytes = Buffer.alloc(headerSize + Buffer.byteLength(text) + checksumSize);
  bytes.writeUInt8(version, 0);
  bytes.writeInt8(number, 1);
  bytes.writeBigInt64BE(before, 2);
  bytes.write(text, headerSize);
  const checked = bytes.subarray(0, -checksumSize);
  bytes.writeUInt32BE(crc32(checked), checked.length);
  return bytes.toString('base64url');
}

/** The position of a cursor, or `undefined` if it is not valid. */
export function decodeCursor(cursor: string): Position | undefined {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length < headerSize + checksumSize) return undefined;
  const checked = bytes.subarray(0, -checksumSize);
  const number = bytes.readInt8(1);
  const text = checked.toString('utf8', headerSize);
  const valid =
    // Buffer.from ignores unknown characters, so only the canonical spelling is valid.
    bytes.toString('base64url') === cursor &&
    bytes.readUInt32BE(checked.length) === crc32(checked) &&
    bytes.readUInt8(0) === version &&
    (text === '' ? number in numbered : number === withoutNumber);
  return valid ? { filter: text || numbered[number], before: bytes.readBigInt64BE(2) } : undefined;
}
