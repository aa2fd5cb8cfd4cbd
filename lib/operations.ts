import { getPetDates } from '../functions/http/deprecation.ts';
import type { ErrorCode } from '../functions/http/errors.ts';

/** The tables of a stage, as properties of `Tables` in storage/tables.ts. */
export const tableNames = ['pets', 'apiKeys', 'rateLimits', 'idempotency'] as const;
export type TableName = (typeof tableNames)[number];

type Read = 'Query' | 'GetItem';
type Write = 'PutItem' | 'UpdateItem' | 'DeleteItem';
/** DynamoDB's name of a call that a function makes, and of the permission for it. */
type Action = Read | Write;

/** Of a header: in every answer with this status, or in some. */
type Occurrence = 'always' | 'sometimes';

/**
 * An operation of the API (docs/interface.md#4-operations). Its function, permissions, route, `Allow` header, memory, alarms
 * and metrics derive from its entry in `operations`, and so do its description in docs/openapi.yaml and its measurement in
 * bench/.
 */
export interface Operation {
  /** The function, in `functions/<entry>.ts`. */
  readonly entry: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path of the API's resource, below the stage. */
  readonly path: `/${string}`;
  /** What the function does with the table of the pets. */
  readonly pets: { readonly action: Action; readonly index?: 'byStatus' };
  /** Whether clients can send an `Idempotency-Key`: a transaction then writes the pet and the key's record. */
  readonly idempotent?: boolean;
  /** The query that it takes, a name in tools/openapi/document.ts. */
  readonly query?: 'listing';
  /** The JSON that it takes, a name in tools/openapi/document.ts. */
  readonly request?: 'NewPet';
  readonly success: {
    readonly status: 200 | 201 | 204;
    /** The JSON that it answers. None: an answer without a body. */
    readonly body?: 'Pet' | 'Pet[]';
    /** Besides those of every answer: names in tools/openapi/texts.ts. */
    readonly headers?: Readonly<Record<string, Occurrence>>;
  };
  /** Besides those of every operation, and those that follow from `query`, `request` and `idempotent`. */
  readonly errors: readonly ErrorCode[];
  /** UTC dates, from where its function has them: functions/http/deprecation.ts. */
  readonly deprecated?: { readonly since: string; readonly removal: string };
}

const table = [
  {
    entry: 'list-pets',
    method: 'GET',
    path: '/pets',
    pets: { action: 'Query', index: 'byStatus' },
    query: 'listing',
    success: { status: 200, body: 'Pet[]', headers: { 'Next-Link': 'sometimes' } },
    errors: [],
  },
  {
    entry: 'create-pet',
    method: 'POST',
    path: '/pets',
    pets: { action: 'PutItem' },
    idempotent: true,
    request: 'NewPet',
    success: { status: 201, body: 'Pet', headers: { Location: 'always' } },
    errors: [],
  },
  {
    entry: 'get-pet',
    method: 'GET',
    path: '/pets/{petId}',
    pets: { action: 'GetItem' },
    success: { status: 200, body: 'Pet' },
    errors: ['pet_not_found'],
    deprecated: getPetDates,
  },
] as const satisfies readonly Operation[];

export type OperationEntry = (typeof table)[number]['entry'];
/** The operations that write, after whose 503 something may be written. */
export type WriteEntry = Extract<
  (typeof table)[number],
  { readonly pets: { readonly action: Write } }
>['entry'];
export const operations: readonly (Operation & { readonly entry: OperationEntry })[] = table;

/** The errors that API Gateway answers itself, whatever the operation. */
export const gatewayErrors = [
  'invalid_request',
  'unauthorized',
  'route_not_found',
  'rate_limit_exceeded',
  'internal_error',
  'service_unavailable',
] as const satisfies readonly ErrorCode[];

/** Answers every other path and method. */
export const unmatchedRoute = 'unmatched-route';

/** The functions that serve requests. */
export const requestEntries = [...operations.map(({ entry }) => entry), unmatchedRoute] as const;

/** All functions, each in `functions/<entry>.ts`. */
export const functionEntries = [...requestEntries, 'authorizer'] as const;
export type FunctionEntry = (typeof functionEntries)[number];

/** The alias of each of them, which API Gateway invokes. */
export const liveAlias = 'live';

/** The methods of each path that has an operation: the `Allow` header of a 405. */
export function allowedMethods(): Readonly<Record<string, readonly string[]>> {
  const methods: Record<string, string[]> = {};
  for (const { path, method } of operations) (methods[path] ??= []).push(method);
  return methods;
}

export interface TableAccess {
  readonly table: TableName;
  /** The permission. A transaction needs those of its parts. */
  readonly action: Action;
  readonly index?: 'byStatus';
  /** The calls, as in the metrics of DynamoDB. */
  readonly calls: readonly (Action | 'TransactWriteItems')[];
}

/** What a function does with the tables. */
export function tableAccess(entry: FunctionEntry): readonly TableAccess[] {
  if (entry === 'authorizer') return [{ table: 'apiKeys', action: 'GetItem', calls: ['GetItem'] }];
  const limiter = { table: 'rateLimits', action: 'UpdateItem', calls: ['UpdateItem'] } as const;
  const operation = operations.find((each) => each.entry === entry);
  if (operation === undefined) return [limiter];
  const { pets, idempotent = false } = operation;
  const transaction = idempotent ? (['TransactWriteItems'] as const) : [];
  return [
    { table: 'pets', ...pets, calls: [pets.action, ...transaction] },
    limiter,
    ...(idempotent ? [{ table: 'idempotency', action: 'PutItem', calls: transaction } as const] : []),
  ];
}
