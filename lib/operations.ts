/** The tables of a stage, as properties of `Tables` in storage/tables.ts. */
export const tableNames = ['pets', 'apiKeys', 'rateLimits', 'idempotency'] as const;
export type TableName = (typeof tableNames)[number];

/** DynamoDB's name of a call that a function makes, and of the permission for it. */
type Action = 'Query' | 'GetItem' | 'PutItem' | 'UpdateItem' | 'DeleteItem';

/**
 * An operation of the API (docs/interface.md#4-operations). Its function, permissions, route, `Allow` header, memory, alarms
 * and metrics derive from its entry in `operations`, and so does its measurement in bench/.
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
}

const table = [
  { entry: 'list-pets', method: 'GET', path: '/pets', pets: { action: 'Query', index: 'byStatus' } },
  { entry: 'create-pet', method: 'POST', path: '/pets', pets: { action: 'PutItem' }, idempotent: true },
  { entry: 'get-pet', method: 'GET', path: '/pets/{petId}', pets: { action: 'GetItem' } },
] as const satisfies readonly Operation[];

type OperationEntry = (typeof table)[number]['entry'];
export const operations: readonly (Operation & { readonly entry: OperationEntry })[] = table;

/** Answers every other path and method. */
export const unmatchedRoute = 'unmatched-route';

/** The functions that serve requests. */
export const requestEntries = [...operations.map(({ entry }) => entry), unmatchedRoute] as const;

/** All functions, each in `functions/<entry>.ts`. */
export const functionEntries = [...requestEntries, 'authorizer'] as const;
export type FunctionEntry = (typeof functionEntries)[number];

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
