import type { FunctionEntry } from '../compute/entries.ts';

/** An operation (docs/interface.md#4-operations) and its function. */
export interface Operation {
  readonly method: 'GET' | 'POST';
  /** The path of the API's resource, below the stage. */
  readonly path: string;
  readonly entry: FunctionEntry;
  /** The permission of the function on the Pets table. */
  readonly pets: { readonly action: 'Query' | 'PutItem' | 'GetItem'; readonly index?: 'byStatus' };
  /** Whether clients can send an `Idempotency-Key`. */
  readonly idempotent?: boolean;
}

/** The route table: methods, grants and the `Allow` header of a 405 all derive from it. */
export const operations: readonly Operation[] = [
  { method: 'GET', path: '/pets', entry: 'list-pets', pets: { action: 'Query', index: 'byStatus' } },
  { method: 'POST', path: '/pets', entry: 'create-pet', pets: { action: 'PutItem' }, idempotent: true },
  { method: 'GET', path: '/pets/{petId}', entry: 'get-pet', pets: { action: 'GetItem' } },
];

/** Serves every other path and method. */
export const unmatchedRoute: FunctionEntry = 'unmatched-route';

/** The methods of each known path. */
export function allowedMethods(): Readonly<Record<string, readonly string[]>> {
  const methods: Record<string, string[]> = {};
  for (const { path, method } of operations) (methods[path] ??= []).push(method);
  return methods;
}

/** Paths whose `ANY` method answers 404 or 405. Without them API Gateway would answer without running the authorizer. */
export const unmatchedPaths: readonly string[] = ['/', ...Object.keys(allowedMethods()), '/{proxy+}'];
