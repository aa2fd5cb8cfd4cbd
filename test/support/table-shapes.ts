import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import { Tables } from 'dynamodb-interleavings';
import type { TableName } from '../../functions/tables.ts';

type Shape = Omit<CreateTableCommandInput, 'TableName' | 'BillingMode'>;

const keyIdRange = { AttributeName: 'keyId', KeyType: 'RANGE' } as const;

/** The tables as the stack declares them, which test/infrastructure/consistency.test.ts compares with these. */
export const tableShapes = {
  Pets: {
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [
      { AttributeName: 'id', AttributeType: 'N' },
      { AttributeName: 'status', AttributeType: 'S' },
    ],
    GlobalSecondaryIndexes: [
      {
        IndexName: 'byStatus',
        KeySchema: [
          { AttributeName: 'status', KeyType: 'HASH' },
          { AttributeName: 'id', KeyType: 'RANGE' },
        ],
        Projection: { ProjectionType: 'ALL' },
      },
    ],
  },
  ApiKeys: {
    KeySchema: [{ AttributeName: 'keyHash', KeyType: 'HASH' }],
    AttributeDefinitions: [
      { AttributeName: 'keyHash', AttributeType: 'S' },
      { AttributeName: 'keyId', AttributeType: 'S' },
      { AttributeName: 'owner', AttributeType: 'S' },
      { AttributeName: 'plan', AttributeType: 'S' },
    ],
    GlobalSecondaryIndexes: [
      {
        IndexName: 'byKeyId',
        KeySchema: [{ AttributeName: 'keyId', KeyType: 'HASH' }],
        Projection: { ProjectionType: 'ALL' },
      },
      {
        IndexName: 'byOwner',
        KeySchema: [{ AttributeName: 'owner', KeyType: 'HASH' }, keyIdRange],
        Projection: { ProjectionType: 'ALL' },
      },
      {
        IndexName: 'byPlan',
        KeySchema: [{ AttributeName: 'plan', KeyType: 'HASH' }, keyIdRange],
        Projection: { ProjectionType: 'ALL' },
      },
    ],
  },
  RateLimits: {
    KeySchema: [{ AttributeName: 'keyHash', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'keyHash', AttributeType: 'S' }],
  },
  Idempotency: {
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
  },
} as const satisfies Record<Capitalize<TableName>, Shape>;

export const timeToLiveAttribute = 'expiresAt';
/** The tables whose items expire. */
export const expiring: readonly string[] = ['RateLimits', 'Idempotency'];

/** The tables of the service, to be made in memory. */
export const tableDefinitions = Object.entries(tableShapes).map(([name, shape]) => ({
  ...shape,
  TableName: name,
  TimeToLiveSpecification: { AttributeName: timeToLiveAttribute, Enabled: expiring.includes(name) },
}));

/** The tables of the service in memory. `now`: milliseconds since the Unix epoch. */
export function serviceTables(now: () => number): Tables {
  return new Tables(tableDefinitions, now);
}
