import { KeyvDynamo } from '@keyv/dynamo';
import { table, versionOf } from './support.mjs';

/** Its table is there. */
class Store extends KeyvDynamo {
  async ensureTable() {}
}
const storeOf = (client) => new Store({ tableName: 'keyv', ...client });
const subject = {
  library: '@keyv/dynamo',
  version: versionOf('@keyv/dynamo'),
  promise: 'https://keyv.org/docs/keyv/#api',
  tables: [table('keyv', 'id')],
  items: { keyv: ['a', 'b'].map((id) => ({ id, value: `value of ${id}`, expiresAt: 1_893_456_000 })) },
};

export const keyvSubjects = [
  {
    ...subject,
    property: '`clear()` deletes 26 entries.',
    items: { keyv: Array.from({ length: 26 }, (_, index) => ({ id: `${index}`, value: 'value' })) },
    requests: [async ({ client }) => storeOf(client).clear()],
    check: ({ outcomes }) =>
      outcomes[0].status === 'rejected' ? '`clear()` fails, and deletes nothing.' : undefined,
  },
  {
    ...subject,
    property: '`clear()` deletes all entries, although a page ends early or a batch is done in part.',
    requests: [
      async ({ client }) => {
        await storeOf(client).clear();
        return { cleared: true };
      },
    ],
    faults: 1,
    kinds: ['shortPage', 'unprocessed'],
    check: ({ outcomes, tables }) =>
      outcomes[0].status === 'fulfilled' && tables.items('keyv').length > 0
        ? '`clear()` has succeeded, and an entry is left.'
        : undefined,
  },
  {
    ...subject,
    property: '`getMany()` finds each stored entry, although a batch is done in part.',
    requests: [async ({ client }) => storeOf(client).getMany(['a', 'b'])],
    faults: 1,
    kinds: ['unprocessed'],
    check: ({ outcomes }) =>
      outcomes[0].value?.includes(undefined)
        ? '`getMany()` says of a stored entry that there is none.'
        : undefined,
  },
];
