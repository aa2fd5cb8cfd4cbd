import { registerHooks } from 'node:module';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { table, times, told, versionOf } from './support.mjs';

// Its ES modules name files without their extension, which bundlers load and Node.js does not.
registerHooks({
  resolve: (name, context, next) => {
    const isOfThem = /node_modules\/use-(dynamodb|async-helpers)\//.test(context.parentURL ?? '');
    return next(isOfThem && name.startsWith('./') ? `${name}.js` : name, context);
  },
});
const { default: Dynamodb } = await import('use-dynamodb');

const item = { pk: 'a', sk: 'a' };
/** What the clock of each machine shows, and what it showed at the last write. */
const clock = Date.parse('2026-01-01T00:00:00Z');

const increment = async ({ client }) => {
  const { region, credentials } = client;
  const db = new Dynamodb({
    ...credentials,
    region,
    table: 'Items',
    schema: { partition: 'pk', sort: 'sk' },
  });
  db.client = DynamoDBDocumentClient.from(new DynamoDBClient(client));
  try {
    await db.update({ filter: { item }, updateFunction: (each) => ({ ...each, count: each.count + 1 }) });
    return { done: true };
  } catch (error) {
    if (error.name !== 'ConditionalCheckFailedException') throw error;
    return { done: false };
  }
};
const subject = {
  library: 'use-dynamodb',
  version: versionOf('use-dynamodb'),
  promise: 'https://www.npmjs.com/package/use-dynamodb',
  tables: [table('Items', 'pk', 'sk')],
  clock,
  requests: times(2, increment),
  check: ({ outcomes, tables }) => {
    const done = told(outcomes).filter((each) => each.done).length;
    const [{ count }] = tables.items('Items');
    return count < done ? `${done} updates have succeeded, and ${count} is stored.` : undefined;
  },
};
const stored = (ts) => ({ Items: [{ ...item, count: 0, __ts: ts }] });

export const useDynamoDbSubjects = [
  {
    ...subject,
    property: 'Of two updates at the same time, none overwrites the other.',
    items: stored(clock - 1),
  },
  {
    ...subject,
    property:
      'Of two updates at the same time, none overwrites the other, although the clock shows the millisecond of the last write.',
    items: stored(clock),
  },
];
