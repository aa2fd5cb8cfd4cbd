import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type Template, uses } from './template.ts';

// What a change of a table must not do, and neither CloudFormation nor cloudformation-diff says before it has begun.

export const tableTypes: ReadonlySet<string> = new Set([
  'AWS::DynamoDB::GlobalTable',
  'AWS::DynamoDB::Table',
]);

const index = z.object({ IndexName: z.string(), KeySchema: z.unknown(), Projection: z.unknown().optional() });
const table = z.object({
  KeySchema: z.array(z.object({ AttributeName: z.string() })),
  AttributeDefinitions: z
    .array(z.object({ AttributeName: z.string(), AttributeType: z.string() }))
    .default([]),
  GlobalSecondaryIndexes: z.array(index).default([]),
});
type Table = z.infer<typeof table>;

/** The key of a table that gets another type, which replaces the table. */
export function retypedKey(deployed: unknown, next: unknown): string | undefined {
  const [old, now] = [table.parse(deployed), table.parse(next)];
  return old.KeySchema.map(({ AttributeName }) => AttributeName).find(
    (key) => typeOf(old, key) !== typeOf(now, key),
  );
}

/** Why the indexes of a table must not change like this: one sentence or more for each reason, with the way that works. */
export function indexConflicts(id: string, before: Template, after: Template): string[] {
  const [old, now] = [before, after].map(({ Resources }) => table.parse(Resources[id]?.Properties)) as [
    Table,
    Table,
  ];
  const byName = ({ GlobalSecondaryIndexes: all }: Table) =>
    new Map(all.map((each) => [each.IndexName, each]));
  const [oldIndexes, newIndexes] = [byName(old), byName(now)];
  const added = [...newIndexes.keys()].filter((name) => !oldIndexes.has(name));
  const removed = [...oldIndexes.keys()].filter((name) => !newIndexes.has(name));
  const changed = [...oldIndexes].filter(([name, each]) => {
    const same = newIndexes.get(name);
    return same !== undefined && !isDeepStrictEqual(definitionOf(old, each), definitionOf(now, same));
  });
  const found = changed.map(
    ([name]) =>
      `The index ${name} of the table ${id} changes, which CloudFormation refuses. Add an index with another name, move the ` +
      `queries to it, then remove ${name}: a deployment for each.`,
  );
  if (added.length + removed.length > 1)
    found.push(
      `The table ${id} ${[...added.map((name) => `gets the index ${name}`), ...removed.map((name) => `loses the index ${name}`)].join(', ')}. ` +
        'CloudFormation creates or deletes one index of a table in a deployment. Deploy them one by one.',
    );
  for (const name of removed)
    if (uses(before, indexArn(id, name)))
      found.push(
        `The index ${name} of the table ${id} is removed while the live version reads it. First deploy a version that does not ` +
          'read it and has no permission for it, then remove the index.',
      );
  for (const name of added)
    if (uses(after, indexArn(id, name)))
      found.push(
        `The index ${name} of the table ${id} is new, and the new version reads it already. CloudFormation does not wait until an ` +
          'index can be read. First deploy the index alone, and wait until DynamoDB shows it as ACTIVE, then deploy what reads it.',
      );
  return found;
}

function typeOf({ AttributeDefinitions }: Table, name: string): string | undefined {
  return AttributeDefinitions.find(({ AttributeName }) => AttributeName === name)?.AttributeType;
}

/** Everything of an index that cannot change. */
function definitionOf(owner: Table, { KeySchema, Projection }: z.infer<typeof index>): unknown {
  const keys = z.array(z.object({ AttributeName: z.string() })).parse(KeySchema);
  return { KeySchema, Projection, types: keys.map(({ AttributeName }) => typeOf(owner, AttributeName)) };
}

function indexArn(id: string, name: string): string {
  return `\${${id}.Arn}/index/${name}`;
}
