import { crc32 } from 'node:zlib';
import { type PetStatus, petStatuses } from './schema.ts';

/**
 * The opaque `cursor` of a following page: where the page before ended, and the filter it belongs to.
 *
 * Wire format, base64url without padding, 19 characters: version (1 byte), filter (1 byte), id of the last
 * animal seen (8 bytes, signed, big endian), CRC-32 of all that (4 bytes). The checksum is against accidents;
 * a forged cursor can only name a place in a listing that its owner may read anyway.
 */
export interface Position {
  readonly status: PetStatus | undefined;
  /** The following page holds ids smaller than this one. */
  readonly before: bigint;
}

const version = 1;
const size = 14;
const checkedSize = size - 4;
const cursorLength = Math.ceil((size * 4) / 3);

// Part of the wire format: numbers are never given another meaning.
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

/** The position that a cursor stands for, or `undefined` for anything that is no cursor. Never throws. */
export function decodeCursor(cursor: string): Position | undefined {
  const bytes = Buffer.from(cursor, 'base64url');
  const intact =
    cursor.length === cursorLength &&
    bytes.length === size &&
    // Decoding skips characters it does not know, so only the one canonical spelling counts.
    bytes.toString('base64url') === cursor &&
    bytes.readUInt32BE(checkedSize) === crc32(bytes.subarray(0, checkedSize)) &&
    bytes.readUInt8(0) === version &&
    filters.has(bytes.readUInt8(1));
  return intact ? { status: filters.get(bytes.readUInt8(1)), before: bytes.readBigInt64BE(2) } : undefined;
}
