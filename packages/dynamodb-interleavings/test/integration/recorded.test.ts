import { randomUUID } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { Tables } from '../../src/simulation.ts';
import type { TableDefinition } from '../../src/tables/schema.ts';
import { callTables, Engine } from '../engine.ts';
import { factsOfItems } from './recorded/items.ts';
import { factsOfReads } from './recorded/reads.ts';
import { factsOfTransactions } from './recorded/transactions.ts';

/*
 * What others have recorded on AWS: error codes, reasons and items, and no wording of messages. The tables in memory and the engine
 * have to answer the same. What an engine is known to answer otherwise stands beside it, so that a version that mends it fails here.
 */

const database = inject('database');

const gsi = (projection: 'ALL' | 'KEYS_ONLY') => ({
  IndexName: 'gsi',
  KeySchema: [
    { AttributeName: 'gsi_pk', KeyType: 'HASH' as const },
    { AttributeName: 'gsi_sk', KeyType: 'RANGE' as const },
  ],
  Projection: { ProjectionType: projection },
});
const key = (...names: readonly string[]) =>
  names.map((name, index) => ({
    AttributeName: name,
    KeyType: index === 0 ? ('HASH' as const) : ('RANGE' as const),
  }));
const types = (...attributes: readonly `${string}:${'S' | 'N'}`[]) =>
  attributes.map((each) => ({
    AttributeName: each.slice(0, -2),
    AttributeType: each.slice(-1) as 'S' | 'N',
  }));
const definitions: Readonly<Record<string, Omit<TableDefinition, 'TableName'>>> = {
  PLAIN: {
    KeySchema: key('pk'),
    AttributeDefinitions: types('pk:S', 'gsi_pk:S', 'gsi_sk:S'),
    GlobalSecondaryIndexes: [gsi('KEYS_ONLY')],
  },
  SORTED: {
    KeySchema: key('pk', 'sk'),
    AttributeDefinitions: types('pk:S', 'sk:S', 'lsi_sk:S'),
    LocalSecondaryIndexes: [
      { IndexName: 'lsi', KeySchema: key('pk', 'lsi_sk'), Projection: { ProjectionType: 'ALL' } },
    ],
  },
  NUMBERS: {
    KeySchema: key('pk', 'sk'),
    AttributeDefinitions: types('pk:S', 'sk:N', 'gsi_pk:S', 'gsi_sk:N'),
    GlobalSecondaryIndexes: [gsi('ALL')],
  },
};

const engine = new Engine(inject('dynamodbEndpoint'));

test.each([...factsOfTransactions, ...factsOfItems, ...factsOfReads])(
  '$source, $in: $words',
  async ({ calls }) => {
    const used = Object.entries(definitions).filter(([name]) => JSON.stringify(calls).includes(name));
    const memory = new Tables(used.map(([name, each]) => ({ ...each, TableName: name })));
    const suffix = randomUUID();
    for (const [name, each] of used)
      await engine.call('CreateTable', {
        ...each,
        TableName: `${name}${suffix}`,
        BillingMode: 'PAY_PER_REQUEST',
      });
    for (const [index, [operation, input, recorded, others]] of calls.entries()) {
      const call = `${operation}, call ${index + 1}`;
      const answer = callTables(memory, operation, input);
      const done: unknown = expect.not.objectContaining({ error: expect.anything() });
      expect({ call, answer }).toEqual({ call, answer: recorded ?? done });
      const renamed = JSON.stringify(input)
        .replaceAll(/PLAIN|SORTED|NUMBERS/g, `$&${suffix}`)
        .replaceAll('TOKEN', suffix);
      const text = JSON.stringify(await engine.call(operation, JSON.parse(renamed) as object));
      expect({ call, [database]: JSON.parse(text.replaceAll(suffix, '')) as unknown }).toEqual({
        call,
        [database]: others?.[database] ?? answer,
      });
    }
  },
);
