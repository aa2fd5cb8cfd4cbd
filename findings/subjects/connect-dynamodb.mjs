import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { require, table, versionOf } from './support.mjs';

const connect = require('connect-dynamodb');
const cookie = { maxAge: 3_600_000 };
const justExpired = Date.parse('2026-01-01T00:00:00Z') / 1_000 - 1;

function storeOf(client) {
  const Store = connect({ Store: function Store() {} });
  const store = new Store({ client: new DynamoDBClient(client), table: 'sessions' });
  // Its table is there.
  store.initialized = true;
  return {
    touch: (id) =>
      new Promise((resolve, reject) =>
        store.touch(id, { cookie }, (error) => (error ? reject(error) : resolve())),
      ),
    reap: () => new Promise((resolve, reject) => store.reap((error) => (error ? reject(error) : resolve()))),
  };
}

export const connectDynamoDbSubjects = [
  {
    library: 'connect-dynamodb',
    version: versionOf('connect-dynamodb'),
    promise: 'https://www.npmjs.com/package/connect-dynamodb',
    property: 'A session that a request renews while `reap()` runs is kept.',
    issue: 'issues/connect-dynamodb.md',
    tables: [table('sessions', 'id')],
    items: {
      sessions: [{ id: 'sess:a', expires: justExpired, type: 'connect-session', sess: '{"user":1}' }],
    },
    requests: [
      // The end of a request that has read the session before it expired.
      async ({ client }) => {
        await storeOf(client).touch('a');
        return { renewed: true };
      },
      async ({ client }) => {
        await storeOf(client).reap();
        return { reaped: true };
      },
    ],
    check: ({ outcomes, tables }) =>
      outcomes[0].value?.renewed === true && tables.items('sessions').length === 0
        ? 'The session is renewed for an hour, and is deleted.'
        : undefined,
  },
];
