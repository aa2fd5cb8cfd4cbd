import { randomBytes } from 'node:crypto';
import { APIGatewayClient } from '@aws-sdk/client-api-gateway';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { BatchWriteCommand } from '@aws-sdk/lib-dynamodb';
import { inject } from 'vitest';
import type { KeyTable } from '../../../functions/access/key-records.ts';
import { type Plan, planNames } from '../../../functions/access/plans.ts';
import { newKeyId } from '../../../tools/operators/keys/key-ids.ts';
import type { KeyService } from '../../../tools/operators/keys/service.ts';
import { documentClient } from '../../../tools/operators/command-line/stack.ts';
import { createTable } from '../../support/create-tables.ts';

/**
 * Unix seconds, in the middle of a minute. Of today, since DynamoDB Local deletes items whose time to live has
 * passed by its own clock.
 */
export const now = Math.floor(Date.now() / 60_000) * 60 + 30;

/** A key service whose tables are real and empty. There is no API Gateway, which reading does not need. */
export async function newKeyService(): Promise<KeyService> {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  const endpoint = inject('dynamodbEndpoint');
  const client = documentClient(new DynamoDBClient({ endpoint, region: 'local', credentials }));
  const [keyTable, limitTable] = await Promise.all([
    createTable('apiKeys', client),
    createTable('rateLimits', client),
  ]);
  return {
    stage: 'test',
    stackName: 'AnimalStore-test',
    keyTable,
    limitTable,
    apiGateway: new APIGatewayClient({ region: 'us-east-1', endpoint: 'http://127.0.0.1:1' }),
    usagePlanIds: Object.fromEntries(planNames.map((plan) => [plan, plan])) as Record<Plan, string>,
    restApiId: 'api',
    isLocal: true,
    now: () => now,
    clock: () => now * 1000,
    auditLine: async (did, detail) => ({ at: now, by: 'someone', did, detail }),
    report: () => {},
    notify: () => {},
    sleep: () => Promise.resolve(),
    close: () => {},
  };
}

export interface StoredKey {
  readonly keyHash: string;
  readonly keyId: string;
  readonly owner: string;
  readonly plan: Plan;
  readonly status: 'active' | 'revoked';
  readonly expiresAt?: number;
}

/** Records as the key tool writes them: every plan, owner and status there is, a second apart. */
export function sampleKeys(count: number): StoredKey[] {
  return Array.from({ length: count }, (_, index) => ({
    keyHash: randomBytes(32).toString('hex'),
    keyId: newKeyId((now - count + index) * 1000),
    owner: `owner-${index % 7}`,
    plan: planNames[(index * 5 + Math.floor(index / 11)) % planNames.length]!,
    status: index % 13 === 5 ? 'revoked' : 'active',
    ...(index % 17 === 2 && { expiresAt: now - 10 }),
    ...(index % 17 === 4 && { expiresAt: now + 10 }),
    ...(index % 4 === 0 && { perMinute: 600, perDay: 60_000 }),
    createdAt: now - count + index,
    gatewayKeyId: 'g',
    audit: [{ at: now - count + index, by: 'someone', did: 'created', detail: 'free' }],
  }));
}

const batchSize = 25;

export async function store({ client, tableName }: KeyTable, items: readonly object[]): Promise<void> {
  const batches = Array.from({ length: Math.ceil(items.length / batchSize) }, (_, index) =>
    items.slice(index * batchSize, (index + 1) * batchSize),
  );
  const waiting = batches.values();
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const batch of waiting) {
        const requests = batch.map((Item) => ({ PutRequest: { Item } }));
        await client.send(new BatchWriteCommand({ RequestItems: { [tableName]: requests } }));
      }
    }),
  );
}
