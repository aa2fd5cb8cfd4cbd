import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { ref, type Resource, resourcesOf, synthesize, theResource } from './synthesis.ts';

const synthesis = synthesize();
const prod = synthesis.stack('AnimalStore-prod');
const staging = synthesis.stack('AnimalStore-staging');
const local = synthesize('local').stack('AnimalStore-local');

const tableType = 'AWS::DynamoDB::GlobalTable';

const tableSchema = z.object({
  AttributeDefinitions: z.array(z.object({ AttributeName: z.string(), AttributeType: z.string() })),
  KeySchema: z.array(z.object({ AttributeName: z.string(), KeyType: z.string() })),
  BillingMode: z.string(),
  GlobalSecondaryIndexes: z
    .array(
      z.object({
        IndexName: z.string(),
        KeySchema: z.array(z.object({ AttributeName: z.string(), KeyType: z.string() })),
        Projection: z.object({ ProjectionType: z.string() }),
      }),
    )
    .default([]),
  TimeToLiveSpecification: z.object({ AttributeName: z.string(), Enabled: z.boolean() }).optional(),
  Replicas: z.array(
    z.object({
      DeletionProtectionEnabled: z.boolean(),
      PointInTimeRecoverySpecification: z.object({ PointInTimeRecoveryEnabled: z.boolean() }).optional(),
    }),
  ),
});

/**
 * A changed logical ID is a new, empty table: CloudFormation would leave the data in a table that nothing reads. Never
 * change an ID to make this test pass: restore the construct's ID.
 */
const pinned = {
  pets: 'TablesPetsD2B49199',
  apiKeys: 'TablesApiKeys330F873D',
  rateLimits: 'TablesRateLimits87C09B19',
  idempotency: 'TablesIdempotency498FF680',
};

describe('the tables', () => {
  it.each([
    ['prod', prod],
    ['staging', staging],
    ['local', local],
  ])('keep their logical IDs in %s', (_, stack) => {
    expect(resourcesOf(stack, tableType).map(([id]) => id)).toEqual(Object.values(pinned));
  });

  it('are the ones that the outputs name', () => {
    expect(prod.Outputs['PetsTableName']?.Value).toEqual(ref(pinned.pets));
    expect(prod.Outputs['ApiKeysTableName']?.Value).toEqual(ref(pinned.apiKeys));
    expect(prod.Outputs['RateLimitsTableName']?.Value).toEqual(ref(pinned.rateLimits));
    expect(prod.Outputs['IdempotencyTableName']?.Value).toEqual(ref(pinned.idempotency));
  });

  it.each(Object.entries(pinned))('are retained in prod when replaced or deleted: %s', (_, id) => {
    const table = prod.Resources[id];
    expect(table?.DeletionPolicy).toBe('Retain');
    expect(table?.UpdateReplacePolicy).toBe('Retain');
    expect(replicaOf(table).DeletionProtectionEnabled).toBe(true);
  });

  it.each([pinned.pets, pinned.apiKeys])('have point-in-time recovery in prod: %s', (id) => {
    expect(replicaOf(prod.Resources[id]).PointInTimeRecoverySpecification).toEqual({
      PointInTimeRecoveryEnabled: true,
    });
  });

  it.each(Object.entries(pinned))('are deleted with the stack in staging: %s', (_, id) => {
    const table = staging.Resources[id];
    expect(table?.DeletionPolicy).toBe('Delete');
    expect(table?.UpdateReplacePolicy).toBe('Delete');
    expect(replicaOf(table).DeletionProtectionEnabled).toBe(false);
  });

  it.each(Object.values(pinned))('have no point-in-time recovery in staging: %s', (id) => {
    const recovery = replicaOf(staging.Resources[id]).PointInTimeRecoverySpecification;
    expect(recovery?.PointInTimeRecoveryEnabled ?? false).toBe(false);
  });

  it.each([pinned.rateLimits, pinned.idempotency])(
    'have no point-in-time recovery of data that is needed for a day only: %s',
    (id) => {
      expect(replicaOf(prod.Resources[id]).PointInTimeRecoverySpecification).toBeUndefined();
    },
  );

  it.each(Object.entries(pinned))('have no maximum throughput and no stream: %s', (_, id) => {
    const table = JSON.stringify(prod.Resources[id]?.Properties);
    expect(table.match(/"\w*(?:Throughput|Stream)\w*"/g)).toBeNull();
  });

  it('have on-demand capacity', () => {
    for (const [, table] of resourcesOf(prod, tableType)) {
      expect(tableSchema.parse(table.Properties).BillingMode).toBe('PAY_PER_REQUEST');
    }
  });

  it('have an index of pets by status, sorted by ID', () => {
    const pets = shapeOf(pinned.pets);
    expect(pets.key).toEqual(['id:N']);
    expect(pets.indexes).toEqual({ byStatus: ['status:S', 'id:N'] });
  });

  it('have indexes of keys by key ID, owner and plan', () => {
    const apiKeys = shapeOf(pinned.apiKeys);
    expect(apiKeys.key).toEqual(['keyHash:S']);
    expect(apiKeys.indexes).toEqual({
      byKeyId: ['keyId:S'],
      byOwner: ['owner:S', 'keyId:S'],
      byPlan: ['plan:S', 'keyId:S'],
    });
  });

  it('delete expired items of RateLimits', () => {
    const rateLimits = shapeOf(pinned.rateLimits);
    expect(rateLimits.key).toEqual(['keyHash:S']);
    expect(rateLimits.timeToLive).toEqual({ AttributeName: 'expiresAt', Enabled: true });
  });

  it('delete expired items of Idempotency', () => {
    const idempotency = shapeOf(pinned.idempotency);
    expect(idempotency.key).toEqual(['id:S']);
    expect(idempotency.timeToLive).toEqual({ AttributeName: 'expiresAt', Enabled: true });
  });
});

describe('the stack', () => {
  it('has termination protection in prod and not in staging', () => {
    expect(synthesis.protectedStacks).toEqual(['AnimalStore-prod']);
  });

  it('has the outputs that the key tool, the smoke test and operators use', () => {
    const tables = ['Pets', 'ApiKeys', 'RateLimits', 'Idempotency'].map((name) => `${name}TableName`);
    const names = ['ApiUrl', 'RestApiId', ...tables];
    const plans = ['Free', 'Pro', 'Business', 'Enterprise'].map((plan) => `UsagePlanId${plan}`);
    expect(Object.keys(local.Outputs).toSorted()).toEqual([...names, ...plans].toSorted());
    expect(Object.keys(prod.Outputs).toSorted()).toEqual([...names, ...plans, 'AlarmTopicArn'].toSorted());
    expect(prod.Outputs['RestApiId']?.Value).toEqual(ref(theResource(prod, 'AWS::ApiGateway::RestApi')[0]));
    expect(prod.Outputs['AlarmTopicArn']?.Value).toEqual(ref(theResource(prod, 'AWS::SNS::Topic')[0]));
  });

  it.each(['prod', 'staging'])('has tags that separate its cost by service and stage: %s', (stage) => {
    expect(synthesis.tagsOf(`AnimalStore-${stage}`)).toEqual({ service: 'animal-store', stage });
  });
});

function replicaOf(table: Resource | undefined) {
  const [replica] = tableSchema.parse(table?.Properties).Replicas;
  if (replica === undefined) throw new Error('The table has no replica in its own Region');
  return replica;
}

function shapeOf(id: string) {
  const table = tableSchema.parse(prod.Resources[id]?.Properties);
  const types = new Map(table.AttributeDefinitions.map((each) => [each.AttributeName, each.AttributeType]));
  const keyOf = (schema: (typeof table)['KeySchema']): string[] =>
    schema
      .toSorted(({ KeyType: a }, { KeyType: b }) => a.localeCompare(b))
      .map(({ AttributeName }) => `${AttributeName}:${types.get(AttributeName)}`);
  for (const { Projection } of table.GlobalSecondaryIndexes) expect(Projection.ProjectionType).toBe('ALL');
  return {
    key: keyOf(table.KeySchema),
    indexes: Object.fromEntries(
      table.GlobalSecondaryIndexes.map(({ IndexName, KeySchema }) => [IndexName, keyOf(KeySchema)]),
    ),
    timeToLive: table.TimeToLiveSpecification,
  };
}
