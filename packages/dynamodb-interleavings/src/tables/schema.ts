import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import { EmptyKey, invalid, Unsupported, WrongKey } from './errors.ts';
import type { Path } from './operands.ts';
import { type Item, type Type, typeOf, type Value } from './values.ts';

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T;

/** The input of `CreateTable`, with the time to live, which DynamoDB sets by a call of its own. */
export type TableDefinition = DeepReadonly<
  Pick<
    CreateTableCommandInput,
    | 'TableName'
    | 'KeySchema'
    | 'AttributeDefinitions'
    | 'GlobalSecondaryIndexes'
    | 'LocalSecondaryIndexes'
    | 'BillingMode'
    | 'ProvisionedThroughput'
  >
> & { readonly TimeToLiveSpecification?: { readonly AttributeName: string; readonly Enabled: boolean } };

export interface KeyAttribute {
  readonly name: string;
  readonly type: Type;
}

export interface Index {
  readonly keys: readonly KeyAttribute[];
  readonly isLocal: boolean;
  /** Attributes besides the keys. */
  readonly projected: 'ALL' | readonly string[];
}

/** The keys and indexes of a table. */
export class Schema {
  readonly name: string;
  /** The partition key, then the sort key if there is one. */
  readonly keys: readonly KeyAttribute[];
  readonly indexes: ReadonlyMap<string, Index>;
  readonly timeToLive: string | undefined;
  /** Undefined: it can be any. */
  readonly billing: TableDefinition['BillingMode'];

  constructor(definition: TableDefinition) {
    const {
      TableName: name,
      AttributeDefinitions: attributes = [],
      TimeToLiveSpecification: ttl,
    } = definition;
    if (name === undefined) throw new Error('A table needs a TableName.');
    const keysOf = (schema: TableDefinition['KeySchema'] = []): KeyAttribute[] =>
      (['HASH', 'RANGE'] as const).flatMap((kind) => {
        const elements = schema.filter(({ KeyType: type }) => type === kind);
        if (elements.length > 1) throw new Unsupported('keys of several attributes');
        return elements.map(({ AttributeName: key }) => {
          const type = attributes.find(({ AttributeName: each }) => each === key)?.AttributeType;
          if (key === undefined || type === undefined)
            throw new Error(`AttributeDefinitions of ${name} needs the type of ${key}.`);
          return { name: key, type };
        });
      });
    this.name = name;
    this.billing = definition.BillingMode;
    this.keys = keysOf(definition.KeySchema);
    if (this.keys.length === 0) throw new Error(`${name} needs a KeySchema.`);
    const { GlobalSecondaryIndexes: globals = [], LocalSecondaryIndexes: locals = [] } = definition;
    this.indexes = new Map(
      [...globals, ...locals].map((index) => {
        const { ProjectionType: projection, NonKeyAttributes: others = [] } = index.Projection ?? {};
        const entry = {
          keys: keysOf(index.KeySchema),
          isLocal: locals.includes(index),
          projected: projection === 'ALL' ? projection : others,
        };
        return [index.IndexName!, entry];
      }),
    );
    this.timeToLive = ttl?.Enabled === true ? ttl.AttributeName : undefined;
  }

  index(name: string): Index {
    return this.indexes.get(name) ?? invalid(`The table does not have the specified index: ${name}`);
  }

  /** Identifies an item. @throws Refusal of an item or key that DynamoDB does not accept */
  idOf(item: Item): string {
    for (const key of this.keys) checkKey(key, item);
    return JSON.stringify(this.keys.map(({ name }) => item[name]));
  }

  /** @throws Refusal unless it has the attributes of the primary key and no more */
  idOfKey(key: Item): string {
    if (Object.keys(key).length !== this.keys.length)
      throw new WrongKey('The provided key element does not match the schema');
    return this.idOf(key);
  }

  /** @throws Refusal of keys of indexes with a wrong type */
  checkIndexKeys(item: Item): void {
    for (const { keys } of this.indexes.values())
      for (const key of keys) if (item[key.name] !== undefined) checkKey(key, item);
  }

  /** @throws Refusal of a path into a key */
  checkPaths(paths: readonly Path[]): void {
    const keys = [this.keys, ...[...this.indexes.values()].map((index) => index.keys)].flat();
    for (const [name, ...more] of paths)
      if (more.length > 0 && keys.some((key) => key.name === name))
        invalid(`Key attributes must be scalars; list random access and map lookup are not allowed: ${name}`);
  }

  isKey(name: unknown): boolean {
    return this.keys.some((key) => key.name === name);
  }
}

function checkKey({ name, type }: KeyAttribute, item: Item): void {
  const value = item[name];
  if (value === undefined || typeOf(value) !== type)
    throw new WrongKey(
      `One or more parameter values were invalid: Type mismatch for key ${name}, expected: ${type}`,
    );
  refuseEmptyKey(name, value);
}

/** @throws Refusal, also when a query looks for it */
export function refuseEmptyKey(name: string, value: Value): void {
  if (value.S === '' || value.B === '')
    throw new EmptyKey(
      `One or more parameter values are not valid. A key attribute must not be empty. Key: ${name}`,
    );
}
