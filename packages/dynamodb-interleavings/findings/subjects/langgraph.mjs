import { require, table, versionOf } from './support.mjs';

// Its ES modules name files without their extension, which Node.js does not load.
const { DynamoDBSaver } = require('@rwai/langgraphjs-checkpoint-dynamodb');

const config = { configurable: { thread_id: 't', checkpoint_ns: '', checkpoint_id: 'c1' } };
const saverOf = (client) =>
  new DynamoDBSaver({ clientConfig: client, checkpointsTableName: 'Checkpoints', writesTableName: 'Writes' });
const checkpoint = {
  v: 1,
  id: 'c1',
  ts: '2026-01-01',
  channel_values: {},
  channel_versions: {},
  versions_seen: {},
};
const saved = async (saver) => {
  await saver.put({ configurable: { thread_id: 't', checkpoint_ns: '' } }, checkpoint, { source: 'loop' });
  await saver.putWrites(
    config,
    [
      ['a', 1],
      ['b', 2],
    ],
    'task',
  );
};

export const langGraphSubjects = [
  {
    library: '@rwai/langgraphjs-checkpoint-dynamodb',
    version: versionOf('@rwai/langgraphjs-checkpoint-dynamodb'),
    promise: 'https://www.npmjs.com/package/@rwai/langgraphjs-checkpoint-dynamodb',
    property: 'What `putWrites()` has saved is in `getTuple()`, although DynamoDB does a batch in part.',
    tables: [
      table('Checkpoints', 'thread_id', 'checkpoint_id'),
      table('Writes', 'thread_id_checkpoint_id_checkpoint_ns', 'task_id_idx'),
    ],
    requests: [
      async ({ client }) => {
        await saved(saverOf(client));
        return { saved: true };
      },
    ],
    afterwards: [
      async ({ client }) => ({ writes: (await saverOf(client).getTuple(config)).pendingWrites.length }),
    ],
    faults: 1,
    kinds: ['unprocessed', 'shortPage'],
    check: ({ outcomes: [save, read] }) =>
      save.status === 'fulfilled' && read.value?.writes !== 2
        ? `Two writes were saved, and the next start finds ${read.value?.writes}.`
        : undefined,
  },
];
