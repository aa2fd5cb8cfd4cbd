import type { ErrorCode } from './http/errors.ts';
import type { TableName } from './tables.ts';

/**
 * The operations of the API (docs/interface.md#4-operations), by the names of their functions: functions/NAME.ts. What a
 * function reads of its entry, permissions, route, `Allow` header, memory, alarms, metrics, the checks of a new version, its
 * description in docs/openapi.yaml and its measurement in bench/ derive from it.
 */
const table = {
  'list-pets': {
    method: 'GET',
    path: '/pets',
    data: { table: 'pets', action: 'Query', indexes: ['byStatus'] },
    success: { status: 200, body: 'Pet[]', headers: { 'Next-Link': 'sometimes' } },
    errors: [],
    checks: [{ query: { limit: '1' }, status: 200 }],
  },
  'create-pet': {
    method: 'POST',
    path: '/pets',
    data: { table: 'pets', action: 'PutItem' },
    idempotent: true,
    request: 'NewPet',
    success: { status: 201, body: 'Pet', headers: { Location: 'always' } },
    errors: [],
    unavailable:
      'The service is temporarily unavailable. The animal may have been created: to avoid a duplicate, retry with the same ' +
      'Idempotency-Key and body.',
    checks: [
      { body: {}, status: 400, code: 'invalid_request' },
      {
        body: { name: 'pre-traffic-check', categoryId: 1 },
        keyIsUsed: true,
        status: 422,
        code: 'idempotency_key_reused',
      },
    ],
  },
  'get-pet': {
    method: 'GET',
    path: '/pets/{petId}',
    data: { table: 'pets', action: 'GetItem' },
    success: { status: 200, body: 'Pet' },
    errors: ['pet_not_found'],
    // IDs begin in 2026.
    deprecated: { since: '2026-01-01', removal: '2030-12-05' },
    checks: [{ pathParameters: { petId: '0' }, status: 404, code: 'pet_not_found' }],
  },
} as const satisfies Readonly<Record<string, Operation>>;

export type OperationEntry = keyof typeof table;
type Entry = (typeof table)[OperationEntry];
/** The names of JSON. */
export type BodyName =
  | Extract<Entry, { readonly request: string }>['request']
  | Extract<Entry['success'], { readonly body: string }>['body'];

export const operations = Object.entries(table).map(([entry, operation]) => ({
  entry,
  ...operation,
})) as readonly (Operation & { readonly entry: OperationEntry })[];

const reads = ['Query', 'Scan', 'GetItem', 'BatchGetItem'] as const;
type Read = (typeof reads)[number];
type Write = 'PutItem' | 'UpdateItem' | 'DeleteItem';
/** DynamoDB's name of a call that a function makes, and of the permission for it. */
export type Action = Read | Write;

/** What a function does with the table of its resource. */
interface Data<Of extends Action> {
  readonly table: TableName;
  readonly action: Of;
  /** If it reads the indexes only, all of them. */
  readonly indexes?: readonly string[];
}

/** A request that a new version has to answer like this before it gets others. It stores nothing and shows no item. */
export interface Check {
  readonly pathParameters?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** Sent with an `Idempotency-Key` that was used for another body. */
  readonly keyIsUsed?: boolean;
  readonly status: number;
  /** Of an error. */
  readonly code?: ErrorCode;
}

/** UTC dates. */
export interface Deprecation {
  readonly since: string;
  readonly removal: string;
}

interface AnyOperation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path of the API's resource, below the stage. */
  readonly path: `/${string}`;
  /** The JSON that it takes: a name in docs/interface.md#2-resources. */
  readonly request?: string;
  readonly success: {
    readonly status: 200 | 201 | 204;
    /** The JSON that it answers. None: an answer without a body. */
    readonly body?: string;
    /** Besides those of every answer: names in tools/contributors/openapi/headers.ts, and how often this status has each. */
    readonly headers?: Readonly<Record<string, 'always' | 'sometimes'>>;
  };
  /** Besides those of every operation, and those that follow from `request` and `idempotent`. */
  readonly errors: readonly ErrorCode[];
  /** Every answer names the dates, and the collection as the successor. */
  readonly deprecated?: Deprecation;
  readonly checks: readonly Check[];
}

interface WritingOperation extends AnyOperation {
  readonly data: Data<Write>;
  /** Whether clients can send an `Idempotency-Key`: a transaction then writes the item and the key's record. */
  readonly idempotent?: boolean;
  /** The message of a 503, after which something may be written. */
  readonly unavailable: string;
}

export type Operation = (AnyOperation & { readonly data: Data<Read> }) | WritingOperation;

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

/** The errors that API Gateway answers itself, whatever the operation. */
export const gatewayErrors = [
  'invalid_request',
  'unauthorized',
  'route_not_found',
  'unsupported_media_type',
  'rate_limit_exceeded',
  'internal_error',
  'service_unavailable',
] as const satisfies readonly ErrorCode[];

/** The name of an operation in docs/interface.md#4-operations and in the log: `list-pets` is the function of `listPets`. */
export function operationName(entry: FunctionEntry): string {
  return entry.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Whether a 503 of an operation can follow a write. */
export function writes(operation: Operation): operation is WritingOperation {
  return !(reads as readonly Action[]).includes(operation.data.action);
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
