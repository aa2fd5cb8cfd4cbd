import { invalid, Unsupported } from './errors.ts';
import type { Substitutes } from './parser.ts';
import type { Item } from './values.ts';

/* The inputs of the calls that the tables know, as in the JSON of DynamoDB's protocol. */

/** What a write does to an item. */
export type Write = 'Put' | 'Update' | 'Delete' | 'ConditionCheck';

export interface Input extends Substitutes {
  readonly TableName: string;
  readonly Key: Item;
  readonly Item: Item;
  readonly ConsistentRead?: boolean;
  readonly ConditionExpression?: string;
  readonly UpdateExpression?: string;
  readonly ProjectionExpression?: string;
  /** Legacy, but libraries still send it. */
  readonly AttributesToGet?: readonly string[];
  readonly KeyConditionExpression?: string;
  readonly FilterExpression?: string;
  readonly ReturnValues?: string;
  readonly ReturnValuesOnConditionCheckFailure?: string;
  readonly IndexName?: string;
  readonly Limit?: number;
  readonly ScanIndexForward?: boolean;
  readonly Select?: string;
  readonly ExclusiveStartKey?: Item;
}

export interface TransactInput {
  readonly TransactItems: readonly Readonly<Record<string, Input>>[];
  readonly ClientRequestToken?: string;
}

export interface BatchInput<Request> {
  readonly RequestItems: Readonly<Record<string, Request>>;
}
export type WriteRequests = readonly { readonly PutRequest?: Input; readonly DeleteRequest?: Input }[];
export type GetRequests = Input & { readonly Keys: readonly Item[] };

const read = 'ConsistentRead ProjectionExpression AttributesToGet ExpressionAttributeNames';
const condition =
  'ConditionExpression ExpressionAttributeNames ExpressionAttributeValues ReturnValuesOnConditionCheckFailure';
const search = `TableName IndexName Limit Select ExclusiveStartKey FilterExpression ExpressionAttributeValues ${read}`;
/** The members of inputs that are known. */
const members = {
  GetItem: `TableName Key ${read}`,
  PutItem: `TableName Item ReturnValues ${condition}`,
  UpdateItem: `TableName Key UpdateExpression ReturnValues ${condition}`,
  DeleteItem: `TableName Key ReturnValues ${condition}`,
  Query: `KeyConditionExpression ScanIndexForward ${search}`,
  Scan: search,
  TransactGetItems: 'TransactItems',
  TransactWriteItems: 'TransactItems ClientRequestToken',
  BatchGetItem: 'RequestItems',
  BatchWriteItem: 'RequestItems',
  Get: `TableName Key ${read}`,
  Put: `TableName Item ${condition}`,
  Update: `TableName Key UpdateExpression ${condition}`,
  Delete: `TableName Key ${condition}`,
  ConditionCheck: `TableName Key ${condition}`,
  PutRequest: 'Item',
  DeleteRequest: 'Key',
  'BatchGetItem of a table': `Keys ${read}`,
  'table of a batch': 'TableName',
} as const;
export type Operation = Extract<keyof typeof members, `${string}Item` | `${string}Items` | 'Query' | 'Scan'>;

/** @throws Unsupported of an operation that is not known, or of a member of its input */
export function operationOf(name: string, input: object): Operation {
  if (!Object.hasOwn(members, name) || !/Items?$|Query|Scan/.test(name))
    throw new Unsupported(`the operation ${name}`);
  checkMembers(name as Operation, input);
  return name as Operation;
}

/** What DynamoDB checks before anything else. */
const rules: Readonly<Record<string, (value: never) => boolean>> = {
  TableName: (value: string) => /^[\w.-]{1,255}$/.test(nameOf(value)),
  Select: (value: string) =>
    ['ALL_ATTRIBUTES', 'ALL_PROJECTED_ATTRIBUTES', 'COUNT', 'SPECIFIC_ATTRIBUTES'].includes(value),
  ReturnValuesOnConditionCheckFailure: (value: string) => ['ALL_OLD', 'NONE'].includes(value),
  Limit: (value: number) => value >= 1,
  ClientRequestToken: ({ length }: string) => length >= 1 && length <= 36,
};

/** The name of a table, of which the ARN can be given as well. */
export function nameOf(table: string): string {
  return table.replace(/^arn:[\w-]+:dynamodb:[\w-]*:\d*:table\//, '');
}

/** @throws Refusal of a value that a member cannot have, Unsupported of a member that is not known */
export function checkMembers(what: keyof typeof members, input: object): void {
  const known = members[what].split(' ');
  const given = Object.entries(input).filter(([, value]) => value !== undefined);
  if (known.includes('TableName') && given.every(([name]) => name !== 'TableName'))
    invalid('TableName is missing');
  for (const [name, value] of given) {
    if (rules[name]?.(value as never) === false) invalid(`${name} cannot be '${value}'`);
    if (known.includes(name)) continue;
    if (value !== 'NONE' || !/^Return(ConsumedCapacity|ItemCollectionMetrics)$/.test(name))
      throw new Unsupported(`${name} of ${what}`);
  }
}
