export {
  AnimalStoreError,
  ApiError,
  ConnectionError,
  type ErrorCode,
  InvalidAnswerError,
  TimeoutError,
} from './errors.ts';
export type { Int64, Int64Input, IntegerMode } from './integers.ts';
export {
  AnimalStore,
  type AnimalStoreOptions,
  type CreateOptions,
  type ListQuery,
  type NewPet,
  type Pet,
  type Pets,
  type PetStatus,
} from './store.ts';
export type { CallOptions } from './transport.ts';
