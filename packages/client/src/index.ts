export type { ApiPromise, WithResponse } from './api-promise.ts';
export type { Method } from './arguments.ts';
export {
  AbortError,
  AnimalStoreError,
  ApiError,
  AuthenticationError,
  BadRequestError,
  ConnectionError,
  type ErrorCode,
  InternalServerError,
  InvalidAnswerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  ServiceUnavailableError,
  TimeoutError,
  UnprocessableEntityError,
} from './errors.ts';
export type { RateLimit, RateLimits } from './headers.ts';
export type { Int64Input } from './integers.ts';
export type {
  AnimalStoreOptions,
  CallOptions,
  Fetch,
  FetchInit,
  FetchResponse,
  RequestEvent,
  ResponseEvent,
  RetryEvent,
} from './options.ts';
export type { Page, PagePromise } from './pages.ts';
export {
  AnimalStore,
  type CreateOptions,
  type ListQuery,
  type NewPet,
  type Pet,
  type Pets,
  type PetStatus,
  type RequestOptions,
} from './store.ts';
