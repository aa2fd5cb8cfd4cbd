import type { TableName } from './tables.ts';

/**
 * The operations of the API (docs/interface.md#operations), by the names of their functions: functions/NAME.ts. Each also has
 * requests that a new version is checked by (functions/delivery/requests.ts) and words (tools/contributors/openapi/operations.ts).
 */
const byEntry = {
  'list-pets': {
    method: 'GET',
    path: '/pets',
    data: { table: 'pets', action: 'Query', indexes: ['byStatus'] },
  },
  'create-pet': {
    method: 'POST',
    path: '/pets',
    data: { table: 'pets', action: 'PutItem' },
    idempotent: true,
    unavailable:
      'The service is temporarily unavailable. The animal may have been created: to avoid a duplicate, retry with the same ' +
      'Idempotency-Key and body.',
  },
  'get-pet': {
    method: 'GET',
    path: '/pets/{petId}',
    data: { table: 'pets', action: 'GetItem' },
    // IDs begin in 2026.
    deprecated: { since: '2026-01-01', removal: '2030-12-05' },
  },
} as const satisfies Readonly<Record<string, Operation>>;

export type OperationEntry = keyof typeof byEntry;

export const operations = Object.entries(byEntry).map(([entry, operation]) => ({
  entry,
  ...operation,
})) as readonly (Operation & { readonly entry: OperationEntry })[];

const reads = ['Query', 'Scan', 'GetItem', 'BatchGetItem'] as const;
type Read = (typeof reads)[number];
type Write = 'PutItem' | 'UpdateItem' | 'DeleteItem';
/** DynamoDB's name of a call that a function makes, and of the permission for it. */
export type Action = Read | Write;

/** What API Gateway sends to the function. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path of the API's resource, below the stage. */
  readonly path: `/${string}`;
}

/** What the function does with the table of its resource: its permission, alarms and metrics. */
interface TableUse<Of extends Action> {
  readonly table: TableName;
  readonly action: Of;
  /** All indexes that it reads, if it reads indexes only. */
  readonly indexes?: readonly string[];
}

/** UTC dates. */
export interface Deprecation {
  readonly since: string;
  readonly removal: string;
}

/** What the pipeline adds to the answers. */
export interface AnswerSettings {
  /** Every answer names the dates, and the collection as the successor. */
  readonly deprecated?: Deprecation;
  /** The message of a 503, after which something may be written. */
  readonly unavailable?: string;
}

type Reading = { readonly data: TableUse<Read>; readonly unavailable?: never };

interface Writing {
  readonly data: TableUse<Write>;
  /** Whether clients can send an `Idempotency-Key`: a transaction then writes the item and the key's record. */
  readonly idempotent?: boolean;
  readonly unavailable: string;
}

export type Operation = Route & AnswerSettings & (Reading | Writing);

/** Answers every other path and method. */
export const unmatchedRoute = 'unmatched-route';
export type RequestEntry = OperationEntry | typeof unmatchedRoute;

/** The functions that serve requests. */
export const requestEntries: readonly RequestEntry[] = [
  ...operations.map(({ entry }) => entry),
  unmatchedRoute,
];

export type FunctionEntry = RequestEntry | 'authorizer';
/** All functions, each in `functions/<entry>.ts`. */
export const functionEntries: readonly FunctionEntry[] = [...requestEntries, 'authorizer'];

/** The name of an operation in docs/interface.md#operations and in the log: `list-pets` is the function of `listPets`. */
export function operationName(entry: FunctionEntry): string {
  return entry.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Whether a 503 of an operation can follow a write. */
export function isWriteOperation(operation: Operation): operation is Operation & Writing {
  return !(reads as readonly Action[]).includes(operation.data.action);
}

/** Whether clients can send an `Idempotency-Key`. */
export function isIdempotent(operation: Operation): boolean {
  return isWriteOperation(operation) && operation.idempotent === true;
}

/** The methods of each path that has an operation: the `Allow` header of a 405. */
export function allowedMethods(): ReadonlyMap<string, readonly string[]> {
  return new Map(
    Array.from(
      Map.groupBy(operations, ({ path }) => path),
      ([path, ofPath]) => [path, ofPath.map(({ method }) => method)],
    ),
  );
}
