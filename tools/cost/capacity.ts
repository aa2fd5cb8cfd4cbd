/**
 * Capacity units as DynamoDB counts them:
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/capacity-unit-calculations.html
 */
const readUnitBytes = 4096;
const writeUnitBytes = 1024;

/** Read units of a read that returns so many bytes; at least one item's worth is always read. */
export function readUnits(bytes: number, { consistent = false } = {}): number {
  const units = Math.max(1, Math.ceil(bytes / readUnitBytes));
  return consistent ? units : units / 2;
}

/** Write units of one item. */
export function writeUnits(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / writeUnitBytes));
}

/** What an item of a table or index takes in storage beyond its own bytes. */
export const storageOverheadBytes = 100;

/** Bytes of an item: the names of its attributes, UTF-8 text, and a byte for every two digits of a number, plus one. */
export function itemBytes(item: Readonly<Record<string, string | number | bigint>>): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(item)) {
    bytes += Buffer.byteLength(name);
    if (typeof value === 'string') bytes += Buffer.byteLength(value);
    else bytes += Math.ceil(String(value).replace('-', '').replace(/0+$/, '').length / 2) + 1;
  }
  return bytes;
}
