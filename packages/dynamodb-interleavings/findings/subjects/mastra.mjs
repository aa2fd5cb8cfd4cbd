import { documents, loadAnew, table, versionOf } from './support.mjs';

/** The storage of one process. */
async function storageOf(client) {
  const { MemoryStorageDynamoDB } = await loadAnew('@mastra/dynamodb/dist/index.js');
  const storage = new MemoryStorageDynamoDB({ tableName: 'Mastra', ...client });
  storage.service.setClient(documents(client));
  return storage;
}
const calling =
  (method, input) =>
  async ({ client }) => {
    await (await storageOf(client))[method](input);
    return { done: method };
  };
const threadOf =
  (id) =>
  async ({ client }) =>
    (await storageOf(client)).getThreadById({ threadId: id });

const at = '2026-01-01T00:00:00.000Z';
const stored = (entity, id, sort, fields) => ({
  pk: `$mastra#entity_${entity}#id_${id}`,
  sk: `$${entity}_1#${sort}`,
  __edb_e__: entity,
  __edb_v__: '1',
  entity,
  id,
  createdAt: at,
  updatedAt: at,
  ...fields,
});
const message = (id) => ({ id, threadId: 't', role: 'user', content: `text of ${id}`, createdAt: at });

const subject = {
  library: '@mastra/dynamodb',
  version: versionOf('@mastra/dynamodb'),
  promise: 'https://mastra.ai/reference/storage/dynamodb',
  tables: [table('Mastra', 'pk', 'sk', { gsi1: ['gsi1pk', 'gsi1sk'] })],
  items: {
    Mastra: [
      stored('thread', 't', 'id_t', { resourceId: 'r', title: 'Thread', metadata: '{}' }),
      stored('message', 'a', 'entity_message', {
        threadId: 't',
        role: 'user',
        type: 'text',
        content: 'text of a',
      }),
    ],
  },
};
const isDone = ({ status }) => status === 'fulfilled';

export const mastraSubjects = [
  {
    ...subject,
    property: 'Two updates of a thread at the same time keep the metadata of both.',
    requests: ['colour', 'size'].map((key) =>
      calling('updateThread', { id: 't', title: 'Thread', metadata: { [key]: 1 } }),
    ),
    afterwards: [threadOf('t')],
    check: ({ outcomes }) => {
      const { metadata } = outcomes.at(-1).value;
      return outcomes.every(isDone) && !(metadata.colour && metadata.size)
        ? `Both updates have succeeded, and the metadata is ${JSON.stringify(metadata)}.`
        : undefined;
    },
  },
  {
    ...subject,
    property: 'A deleted thread does not come back by an update at the same time.',
    requests: [
      calling('deleteThread', { threadId: 't' }),
      calling('updateThread', { id: 't', title: 'New title', metadata: {} }),
    ],
    check: ({ outcomes, tables }) =>
      isDone(outcomes[0]) && tables.items('Mastra').some(({ pk }) => pk.includes('#entity_thread#'))
        ? 'The thread is deleted, and an item with a part of its fields is there.'
        : undefined,
  },
  {
    ...subject,
    property: 'A message that is stored stays, although saving it together with another one fails.',
    requests: [calling('saveMessages', { messages: [message('a'), message('b')] })],
    faults: 1,
    kinds: ['denied'],
    check: ({ tables }) =>
      tables.items('Mastra').some(({ id }) => id === 'a')
        ? undefined
        : '`saveMessages()` fails, and deletes a message that was stored before.',
  },
];
