/** 2026-01-01T00:00:00Z, in milliseconds since the Unix epoch: the creation time of the smallest ID. */
export const idEpoch = Date.UTC(2026, 0, 1);

/**
 * Half of the IDs of a millisecond are for animals that are created. The other half, which are larger, are for those of a
 * file (tools/operators/pets), so that none is given twice.
 */
export const idsPerMillisecond = 2_048;
const timeLimit = 2 ** 41;

/**
 * A new ID: 41 bits of milliseconds since 2026, a bit that is 0, then 11 random bits. It is at most 2^53 − 1, so every JSON client reads it
 * exactly, and IDs sort by creation time. `now` is in milliseconds since the Unix epoch, `random` in [0, 1).
 * @throws RangeError before 2026, after 69 years, or if `random` is out of range
 */
export function newPetId(now: number, random: number): bigint {
  const elapsed = Math.floor(now) - idEpoch;
  if (!(elapsed >= 0 && elapsed < timeLimit))
    throw new RangeError(`now must be within 69 years after 2026-01-01 (got ${now})`);
  if (!(random >= 0 && random < 1)) throw new RangeError(`random must be in [0, 1) (got ${random})`);
  return BigInt(elapsed * 2 * idsPerMillisecond + Math.floor(random * idsPerMillisecond));
}
