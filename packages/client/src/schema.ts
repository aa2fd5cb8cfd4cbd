/** Written by `npm run openapi` from functions/ and tools/contributors/openapi/texts.ts: do not edit. */

export interface Schemas {
  NewPet: NewPet;
  /**
   * Availability of the animal.
   */
  PetStatus: 'available' | 'pending' | 'sold';
  Error: Error;
  Pet: Pet;
}
/**
 * An animal as sent on creation. Unknown fields are ignored, `id` included.
 */
export interface NewPet {
  /**
   * The animal's name: 1 to 255 Unicode code points, at least one of them visible (not a separator, control or format character). Lone surrogates and U+FFFD are rejected.
   */
  name: string;
  /**
   * The category the animal belongs to. The full range of int64, returned digit for digit.
   */
  categoryId: number;
  /**
   * Availability of the animal. `available` when omitted.
   */
  status?: 'available' | 'pending' | 'sold';
}
/**
 * The body of every answer that is not a success.
 */
export interface Error {
  /**
   * Machine-readable error code. The list can grow: treat an unknown code by its status.
   */
  code: string;
  /**
   * Human-readable. Names every invalid field.
   */
  message: string;
  /**
   * The HTTP status code.
   */
  status: number;
}
/**
 * An animal as returned.
 */
export interface Pet {
  /**
   * Assigned by the service: at most 2^53 − 1, in order of creation.
   */
  id: number;
  /**
   * The animal's name.
   */
  name: string;
  /**
   * The category the animal belongs to. The full range of int64, returned digit for digit.
   */
  categoryId: number;
  /**
   * Availability of the animal.
   */
  status?: 'available' | 'pending' | 'sold';
}
