import { App, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { functionEntries } from '../../functions/operations.ts';
import { tableAccess } from '../../lib/table-access.ts';
import { titleCase } from '../../lib/title-case.ts';
import { refusals } from '../../tools/operators/deploy/template-changes.ts';
import { idOf, stackOf } from './synthesis.ts';

interface Version {
  readonly table?: string;
  readonly key?: string;
  readonly keyType?: AttributeType;
  readonly sortKey?: string;
  readonly tableName?: string;
  readonly removalPolicy?: RemovalPolicy;
  /** The sort key of each index, by its name. */
  readonly indexes?: Readonly<Record<string, string>>;
  /** Indexes that the code reads, `*` for all. */
  readonly reads?: readonly string[];
  readonly usesTable?: boolean;
}

/** The template of a service with one table and one role. */
function version({
  table: id = 'Pets',
  key = 'id',
  keyType = AttributeType.NUMBER,
  sortKey,
  tableName,
  removalPolicy = RemovalPolicy.RETAIN,
  indexes = {},
  reads = [],
  usesTable = false,
}: Version) {
  const stack = new Stack(new App());
  const text = (name: string) => ({ name, type: AttributeType.STRING });
  const table = new TableV2(stack, id, {
    partitionKey: { name: key, type: keyType },
    ...(sortKey !== undefined && { sortKey: text(sortKey) }),
    ...(tableName !== undefined && { tableName }),
    removalPolicy,
    globalSecondaryIndexes: Object.entries(indexes).map(([indexName, sortKeyOfIndex]) => ({
      indexName,
      partitionKey: text(`${indexName}Of`),
      sortKey: text(sortKeyOfIndex),
    })),
  });
  const role = new Role(stack, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
  const allow = (resource: string) =>
    role.addToPolicy(new PolicyStatement({ actions: ['dynamodb:Query'], resources: [resource] }));
  for (const name of reads) allow(`${table.tableArn}/index/${name}`);
  if (usesTable) allow(table.tableArn);
  return Template.fromStack(stack).toJSON() as unknown;
}

const refused = (before: Version, after: Version, ...removable: string[]) =>
  refusals(version(before), version(after), new Set(removable));
const sentence = (text: string) => [expect.stringContaining(text)];
/** Of the construct in `version`. */
const pets = 'Pets118546E0';

describe('a change of a table is refused', () => {
  it.each<[string, Version, Version, string]>([
    ['its key changes', { key: 'id' }, { key: 'petId' }, 'replaced by an empty one, because its KeySchema'],
    ['it gets a sort key', {}, { sortKey: 'at' }, 'because its KeySchema changes. Restore it.'],
    ['the type of its key changes', {}, { keyType: AttributeType.STRING }, 'because its type of id changes'],
    ['it gets a name', {}, { tableName: 'pets' }, 'because its TableName changes'],
    [
      'it gets two indexes',
      {},
      { indexes: { a: 'at', b: 'at' } },
      'gets the index a, gets the index b. CloudFormation creates or deletes one index',
    ],
    ['it loses two indexes', { indexes: { a: 'at', b: 'at' } }, {}, 'loses the index a, loses the index b.'],
    [
      'an index is renamed',
      { indexes: { a: 'at' } },
      { indexes: { b: 'at' } },
      'gets the index b, loses the index a.',
    ],
    [
      'the key of an index changes',
      { indexes: { a: 'at' } },
      { indexes: { a: 'since' } },
      'changes, which CloudFormation refuses. Add an index with another name',
    ],
    [
      'an index is removed while the live version reads it',
      { indexes: { a: 'at' }, reads: ['a'] },
      {},
      'is removed while the live version reads it. First deploy a version that does not',
    ],
    [
      'an index is removed while the live version may read all',
      { indexes: { a: 'at' }, reads: ['*'] },
      {},
      'is removed while the live version reads it.',
    ],
    [
      'the new version reads an index that is new',
      {},
      { indexes: { a: 'at' }, reads: ['a'] },
      'First deploy the index alone, and wait until DynamoDB shows it as ACTIVE',
    ],
  ])('if %s', (_, before, after, text) => {
    expect(refused(before, after)).toEqual(sentence(text));
  });

  it('if its construct ID changes, or the live version uses it, even if its removal is confirmed', () => {
    const uses: Version = { usesTable: true };
    const text = 'is removed while the live version uses it. If only its construct ID has changed, restore';
    expect(refused(uses, { ...uses, table: 'Animals' }, pets)).toEqual(sentence(text));
  });

  it('if it is removed, until that is confirmed, and says what happens to the data', () => {
    const after: Version = { table: 'Others' };
    expect(refused({}, after)).toEqual(sentence(`It stays in the account, with its data. To confirm it`));
    const before: Version = { removalPolicy: RemovalPolicy.DESTROY };
    expect(refused(before, after)).toEqual(sentence(`Its data is deleted.`));
    expect(refused({}, after, 'Others')).toEqual(sentence(`--remove-table ${pets}.`));
    expect(refused({}, after, pets)).toEqual([]);
  });
});

it('a change of indexes is refused unless it is one that the code of both versions survives', () => {
  const some = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'));
  fc.assert(
    fc.property(some, some, some, some, (before, after, readBefore, readAfter) => {
      const made = (names: string[], reads: string[]): Version => ({
        indexes: Object.fromEntries(names.map((name) => [name, 'at'])),
        reads: reads.filter((name) => names.includes(name)),
      });
      const changed = [...new Set([...before, ...after])].filter(
        (name) => before.includes(name) !== after.includes(name),
      );
      const survives =
        changed.length === 0 ||
        (changed.length === 1 &&
          !(before.includes(changed[0]!) ? readBefore : readAfter).includes(changed[0]!));
      expect(refused(made(before, readBefore), made(after, readAfter)).length === 0).toBe(survives);
    }),
    { numRuns: 60 },
  );
});

describe('the templates of the service', () => {
  const prod = stackOf('AnimalStore-prod').template.toJSON() as { Resources: Record<string, unknown> };

  it('are not refused over themselves, nor over those with other settings', () => {
    for (const name of ['AnimalStore-prod', 'AnimalStore-staging', 'Shelter-prod'])
      expect(refusals(prod, stackOf(name).template.toJSON())).toEqual([]);
  });

  it('are refused without one of the tables that functions use', () => {
    const used = new Set(functionEntries.flatMap((entry) => tableAccess(entry).map(({ table }) => table)));
    const tables = [...used].map((table) =>
      idOf(stackOf('AnimalStore-prod').Outputs[`${titleCase(table)}TableName`]?.Value),
    );
    for (const id of tables) {
      const { [id]: _, ...Resources } = prod.Resources;
      expect(refusals(prod, { ...prod, Resources }, new Set(tables))).toEqual(
        sentence(`The table ${id} is removed while the live version uses it.`),
      );
    }
  });

  it('are refused without the index that lists read', () => {
    const without = JSON.parse(
      JSON.stringify(prod, (_, value: unknown) =>
        Array.isArray(value)
          ? value.filter((each) => (each as { IndexName?: string } | null)?.IndexName !== 'byStatus')
          : value,
      ),
    ) as unknown;
    expect(refusals(prod, without)).toEqual(
      sentence('The index byStatus of the table TablesPetsD2B49199 is removed'),
    );
  });
});
