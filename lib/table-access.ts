import { type Action, type FunctionEntry, isIdempotent, operations } from '../functions/operations.ts';
import type { TableName } from '../functions/tables.ts';

export interface TableAccess {
  readonly table: TableName;
  /** The permission. A transaction needs those of its parts. */
  readonly action: Action;
  readonly indexes?: readonly string[];
  /** The calls, as in the metrics of DynamoDB. */
  readonly calls: readonly (Action | 'TransactWriteItems')[];
}

/** What a function does with the tables. */
export function tableAccess(entry: FunctionEntry): readonly TableAccess[] {
  if (entry === 'authorizer') return [{ table: 'apiKeys', action: 'GetItem', calls: ['GetItem'] }];
  const limiter = { table: 'rateLimits', action: 'UpdateItem', calls: ['UpdateItem'] } as const;
  const operation = operations.find((each) => each.entry === entry);
  if (operation === undefined) return [limiter];
  const { data } = operation;
  const idempotent = isIdempotent(operation);
  const transaction = idempotent ? (['TransactWriteItems'] as const) : [];
  return [
    { ...data, calls: [data.action, ...transaction] },
    limiter,
    ...(idempotent ? [{ table: 'idempotency', action: 'PutItem', calls: transaction } as const] : []),
  ];
}
