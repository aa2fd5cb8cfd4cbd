import { readFileSync } from 'node:fs';
import { type AttributeValue, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import { decideKey, findKey } from '../../../functions/access/key-records.ts';
import { admit } from '../../../functions/access/limiter.ts';
import { toCanonicalJson } from '../../../functions/http/exact-json.ts';
import { toUnixSeconds } from '../../../functions/runtime/unix-time.ts';
import { createPetOnce, recordIdOf } from '../../../functions/pets/idempotent-creation.ts';
import { getPet, listPets } from '../../../functions/pets/store.ts';
import { createTable } from '../../support/create-tables.ts';
import { fileOfLastRelease, lastRelease } from './last-release.ts';

/**
 * What a release stores, the next ones read. `stored-items.json` has an item of each table as this version writes it; the
 * tests read it, and that of the last release.
 */
const path = 'test/integration/upgrade/stored-items.json';
type TableName = 'Pets' | 'ApiKeys' | 'RateLimits' | 'Idempotency';
type Item = Readonly<Record<string, AttributeValue>>;
const parse = (text: string) => JSON.parse(text) as Record<TableName, Item>;
const current = parse(readFileSync(path, 'utf8'));

const bella = { name: 'Bella', categoryId: 2n ** 63n - 1n, status: 'available' } as const;
const id = 114_841_436_160_000n;
const keyHash = current.ApiKeys['keyHash']!.S!;
/** In the minute of the stored usage. */
const now = toUnixSeconds(2_096_310_430_000);
const limits = { perMinute: 5_000, perDay: 1_000_000 };

async function tableWith(name: TableName, item: Item | undefined) {
  const table = await createTable(name);
  if (item !== undefined) {
    const { client, tableName } = table;
    await client.send(new PutItemCommand({ TableName: tableName, Item: { ...item } }));
  }
  return table;
}

const creation = {
  recordId: recordIdOf(keyHash, 'order-7'),
  body: toCanonicalJson(bella),
  now,
  newId: () => id,
  onCollision: () => {},
};

const versions = [
  ['this version', current],
  ...(lastRelease === undefined ? [] : [[lastRelease, parse(fileOfLastRelease(path))] as const]),
] as const;

describe.each(versions)('An item that was stored by %s', (_, items) => {
  it('is a pet that is found and listed', async () => {
    const pets = await tableWith('Pets', items.Pets);
    expect(await getPet(pets, id)).toEqual({ id, ...bella });
    const listed = await listPets(pets, { limit: 5, status: 'available', before: undefined });
    expect(listed.pets).toEqual([{ id, ...bella }]);
  });

  it('is a key that is valid, with its limits', async () => {
    const keys = await tableWith('ApiKeys', items.ApiKeys);
    expect(decideKey(await findKey(keys, keyHash), now)).toMatchObject({
      kind: 'granted',
      caller: { keyId: 'key_0190a1b2c3d4', plan: 'enterprise', limits },
      gatewayValue: 'b'.repeat(64),
    });
  });

  it('is a usage that the next request adds to', async () => {
    const usage = await tableWith('RateLimits', items.RateLimits);
    await admit(usage, { keyHash, limits, now });
    const [stored] = await itemsOf(usage);
    expect(stored).toMatchObject({ minuteCount: { N: '8' }, dayCount: { N: '901' } });
  });

  it('is a creation that is replayed', async () => {
    const [pets, records] = await Promise.all([
      tableWith('Pets', items.Pets),
      tableWith('Idempotency', items.Idempotency),
    ]);
    const outcome = await createPetOnce(pets, records, bella, creation);
    expect(outcome).toEqual({ kind: 'replayed', pet: { id, ...bella } });
  });
});

/** The key tool's tests check what it stores of a key. */
describe('This version stores', () => {
  it('a creation as in stored-items.json', async () => {
    const [pets, records] = await Promise.all([
      tableWith('Pets', undefined),
      tableWith('Idempotency', undefined),
    ]);
    await createPetOnce(pets, records, bella, creation);
    expect(await itemsOf(pets)).toEqual([current.Pets]);
    expect(await itemsOf(records)).toEqual([current.Idempotency]);
  });

  it('a usage with the attributes in stored-items.json', async () => {
    const usage = await tableWith('RateLimits', undefined);
    await admit(usage, { keyHash, limits, now });
    const [stored = {}] = await itemsOf(usage);
    expect(Object.keys(stored).toSorted()).toEqual(Object.keys(current.RateLimits).toSorted());
  });
});

async function itemsOf({ client, tableName }: { client: DynamoDBDocumentClient; tableName: string }) {
  const { Items: items = [] } = await client.send(
    new ScanCommand({ TableName: tableName, ConsistentRead: true }),
  );
  return items;
}

describe.runIf(lastRelease !== undefined)('The interface, compared with the last release,', () => {
  const isChanged = (file: string) => readFileSync(file, 'utf8') !== fileOfLastRelease(file);

  it('does not differ without a line in the changelog', () => {
    expect(isChanged('docs/openapi.yaml') && !isChanged('CHANGELOG.md')).toBe(false);
  });
});

describe.runIf(lastRelease !== undefined)('The templates, compared with the last release,', () => {
  const snapshot = 'test/infrastructure/templates.snapshot.txt';
  const before = lastRelease === undefined ? [] : fileOfLastRelease(snapshot).split('\n');
  const after = new Set(readFileSync(snapshot, 'utf8').split('\n'));

  it('keep the logical IDs of what cannot be replaced', () => {
    // The lines with the type and ID of a resource.
    const kept = /^(DynamoDB::GlobalTable|ApiGateway::(RestApi|Stage|UsagePlan|DomainName)|SNS::Topic) /;
    const ids = before.filter((line) => kept.test(line));
    expect(ids.length).toBeGreaterThan(10);
    expect(ids.filter((line) => !after.has(line))).toEqual([]);
  });

  it('keep the keys of tables, whose change would replace them', () => {
    const keys = before.filter((line) => /^Tables\w+\.KeySchema: /.test(line));
    expect(keys).toHaveLength(4);
    expect(keys.filter((line) => !after.has(line))).toEqual([]);
  });
});
