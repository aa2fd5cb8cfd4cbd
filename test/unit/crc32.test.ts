import { crc32 as zlibCrc32 } from 'node:zlib';
import { assert, property, uint8Array } from 'fast-check';
import { expect, test } from 'vitest';
import { crc32 } from '../../functions/crc32.ts';

test('returns the same checksum as zlib', () => {
  assert(
    property(uint8Array({ maxLength: 100 }), (bytes) => {
      expect(crc32(bytes)).toBe(zlibCrc32(bytes));
    }),
  );
});

test('matches the published check value', () => {
  // https://reveng.sourceforge.io/crc-catalogue/17plus.htm#crc.cat.crc-32-iso-hdlc
  expect(crc32(Buffer.from('123456789'))).toBe(0xcb_f4_39_26);
});
