import { crc32 } from 'node:zlib';
import { type PetStatus, petStatuses } from './schema.ts';

/**
 * Where the next page starts, and its filter. A `cursor` is base64url of: version (1 byte), filter (1 byte), ID of the
 * last pet (8 bytes, signed, big endian), CRC-32 of these (4 bytes). The checksum detects mistakes, not forgery, which
 * would reveal nothing but the caller's own listing.
 */
export interface Position {
  readonly status: PetStatus | undefined;
  /** The next page has only smaller IDs. */
  readonly before: bigint;
}

const version = 1;
const size = 14;
const checkedSize = size - 4;

// Part of the wire format: never reuse a number.
const filterCodes = { all: 0, available: 1, pending: 2, sold: 3 } as const satisfies Record<
  PetStatus | 'all',
  number
>;
const filters = new Map<number, PetStatus | undefined>([
  [filterCodes.all, undefined],
  ...petStatuses.map((status) => [filterCodes[status], status] as const),
]);

export function encodeCursor(position: Position): string {
  const bytes = Buffer.alloc(size);
  bytes.writeUInt8(version, 0);
  bytes.writeUInt8(filterCodes[position.status ?? 'all'], 1);
  bytes.writeBigInt64BE(position.before, 2);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, checkedSize)), checkedSize);
  return bytes.toString('base64url');
}

/** The position of a cursor, or `undefined` if it is not valid. */
export function decodeCursor(cursor: string): Position | undefined {
  const bytes = Buffer.from(cursor, 'base64url');
  const valid =
    bytes.length === size &&
    // Buffer.from ignores unknown characters, so only the canonical spelling is valid.
    bytes.toString('base64url') === cursor &&
    bytes.readUInt32BE(checkedSize) === crc32(bytes.subarray(0, checkedSize)) &&
    bytes.readUInt8(0) === version &&
    filters.has(bytes.readUInt8(1));
  return valid ? { status: filters.get(bytes.readUInt8(1)), before: bytes.readBigInt64BE(2) } : undefined;
}
