import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

// What a change of the template must not do to the tables. CloudFormation would refuse it half-way, or lose data or requests.

/** The tables that may be removed, by their logical IDs. The live code must not use them. */
type Removable = ReadonlySet<string>;

const tableTypes = new Set(['AWS::DynamoDB::GlobalTable', 'AWS::DynamoDB::Table']);

const index = z.object({ IndexName: z.string(), KeySchema: z.unknown(), Projection: z.unknown().optional() });
const table = z.object({
  TableName: z.unknown().optional(),
  KeySchema: z.array(z.object({ AttributeName: z.string(), KeyType: z.string() })),
  AttributeDefinitions: z
    .array(z.object({ AttributeName: z.string(), AttributeType: z.string() }))
    .default([]),
  LocalSecondaryIndexes: z.unknown().optional(),
  GlobalSecondaryIndexes: z.array(index).default([]),
});
const statement = z.object({
  Effect: z.string(),
  Action: z.unknown().transform((actions) => [actions].flat()),
  Resource: z.unknown().transform((resources) => [resources].flat().map(textOf)),
});
const template = z.object({
  Resources: z.record(
    z.string(),
    z.object({ Type: z.string(), Properties: z.unknown().optional(), DeletionPolicy: z.string().optional() }),
  ),
});
type Template = z.infer<typeof template>;

/**
 * Why the new template must not be deployed over the deployed one: one sentence or more for each reason, with the way that works.
 *
 * @param removable tables whose removal was confirmed
 * @throws ZodError if one of them is no template
 */
export function refusals(deployed: unknown, next: unknown, removable: Removable = new Set()): string[] {
  const before = template.parse(deployed);
  const after = template.parse(next);
  return Object.entries(before.Resources)
    .filter(([, { Type }]) => tableTypes.has(Type))
    .flatMap(([id, { Type }]) => {
      if (after.Resources[id] === undefined) return removal(id, before, removable);
      if (after.Resources[id].Type !== Type) return replacement(id, 'type');
      return changes(id, before, after);
    });
}

function removal(id: string, before: Template, removable: Removable): string[] {
  if (uses(before, `\${${id}.Arn}`))
    return [
      `The table ${id} is removed while the live version uses it. If only its construct ID has changed, restore the ID. To remove ` +
        'it, first deploy a version that does not use it and has no permission for it.',
    ];
  if (removable.has(id)) return [];
  const isKept = before.Resources[id]?.DeletionPolicy?.startsWith('Retain') === true;
  const data = isKept ? 'It stays in the account, with its data.' : 'Its data is deleted.';
  return [`The table ${id} is removed. ${data} To confirm it, deploy by hand with --remove-table ${id}.`];
}

function replacement(id: string, property: string): string[] {
  return [
    `The table ${id} is replaced by an empty one, because its ${property} changes. Restore it. To change it, add a second table, ` +
      'write to both, copy the data, read from the new one, then remove the old one: a deployment for each.',
  ];
}

function changes(id: string, before: Template, after: Template): string[] {
  const [old, now] = [before, after].map(({ Resources }) => table.parse(Resources[id]?.Properties)) as [
    Table,
    Table,
  ];
  for (const property of ['TableName', 'KeySchema', 'LocalSecondaryIndexes'] as const)
    if (!isDeepStrictEqual(old[property], now[property])) return replacement(id, property);
  const keys = old.KeySchema.map(({ AttributeName }) => AttributeName);
  const changed = keys.find((key) => typeOf(old, key) !== typeOf(now, key));
  if (changed !== undefined) return replacement(id, `type of ${changed}`);
  return indexChanges(id, old, now, before, after);
}
type Table = z.infer<typeof table>;

function indexChanges(id: string, old: Table, now: Table, before: Template, after: Template): string[] {
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

/** Whether the functions of a version use a table or an index: they have a permission for everything that they use. */
function uses({ Resources }: Template, arn: string): boolean {
  return statementsIn(Resources).some(
    ({ Effect, Action, Resource }) =>
      Effect === 'Allow' &&
      Action.some((action) => typeof action === 'string' && /^(dynamodb:|\*)/.test(action)) &&
      Resource.some((pattern) => matches(pattern, arn)),
  );
}

/** The statements of all policies, wherever they are. */
function statementsIn(value: unknown): z.infer<typeof statement>[] {
  if (typeof value !== 'object' || value === null) return [];
  const { success, data } = statement.safeParse(value);
  return success ? [data] : Object.values(value).flatMap(statementsIn);
}

/** A value of a template as text, with references as in `Fn::Sub`. */
function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const [[key, content] = []] = Object.entries(value);
  if (key === 'Ref') return `\${${String(content)}}`;
  if (key === 'Fn::GetAtt') return `\${${[content].flat().join('.')}}`;
  if (key === 'Fn::Sub') return String([content].flat()[0]);
  if (key === 'Fn::Join' && Array.isArray(content))
    return (content[1] as unknown[]).map(textOf).join(String(content[0]));
  return JSON.stringify(value);
}

/** @param pattern of a policy, in which `*` stands for any text */
function matches(pattern: string, text: string): boolean {
  const expression = pattern.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll('*', '.*');
  return new RegExp(`^${expression}$`, 's').test(text);
}
