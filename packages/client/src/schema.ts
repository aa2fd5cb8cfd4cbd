/** Written by `npm run openapi` from functions/ and tools/contributors/openapi/: do not edit. */

export interface Schemas {
  NewPet: NewPet;
  /**
   * Availability of an animal: one of the strings `available`, `pending` and `sold`. `available` means listed as available. The interface does not define what the two others mean: agree on it with the operator. No operation changes a status. The operator can change any status to any other.
   */
  PetStatus: 'available' | 'pending' | 'sold';
  Error: Error;
  Pet: Pet;
}
/**
 * The body of a creation: a Pet without `id`. Unknown fields are ignored, `id` included.
 */
export interface NewPet {
  /**
   * Name of the animal. 1 to 255 Unicode code points, at least one of them visible (not a separator or format character). Control characters (U+0000 to U+001F, U+007F to U+009F), such as a line feed, lone surrogates and U+FFFD to U+FFFF are rejected.
   */
  name: string;
  /**
   * Category that the animal is in. Any int64, returned digit for digit. JavaScript rounds a large one without an error, also in a generated client.
   */
  categoryId: number;
  /**
   * Availability of the animal. `available` when omitted.
   */
  status?: 'available' | 'pending' | 'sold';
}
/**
 * The body of every response of the service that is not a success. All fields are required.
 */
export interface Error {
  /**
   * Machine-readable error code. The list can grow. Treat an unknown code by its status.
   */
  code: string;
  /**
   * Description for people. It names every invalid field.
   */
  message: string;
  /**
   * The HTTP status code.
   */
  status: number;
}
/**
 * An animal, as the service returns it. `status` is not required, but the service returns it with every animal.
 */
export interface Pet {
  /**
   * Assigned by the service. A later animal has a higher ID. Only animals that are created within three seconds, and those that the operator imports, can be in another order. At most 2^53 − 1, so a JavaScript `number` is exact.
   */
  id: number;
  /**
   * Name of the animal.
   */
  name: string;
  /**
   * Category that the animal is in. Any int64, returned digit for digit. JavaScript rounds a large one without an error, also in a generated client.
   */
  categoryId: number;
  /**
   * Availability of an animal: one of the strings `available`, `pending` and `sold`. `available` means listed as available. The interface does not define what the two others mean: agree on it with the operator. No operation changes a status. The operator can change any status to any other.
   */
  status?: 'available' | 'pending' | 'sold';
}
