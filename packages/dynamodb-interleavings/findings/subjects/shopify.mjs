import { Session } from '@shopify/shopify-api';
import { DynamoDBSessionStorage } from '@shopify/shopify-app-session-storage-dynamodb';
import { lostAnswers, table, versionOf } from './support.mjs';

const name = 'shopify_sessions';
const shop = 'a.myshopify.com';
const sessionOf = (id) => ({
  id,
  shop,
  state: '',
  isOnline: true,
  accessToken: 'token',
  scope: 'read_products',
});
const storageOf = (config) =>
  new DynamoDBSessionStorage({ sessionTableName: name, shopIndexName: 'shop_index', config });

const subject = {
  library: '@shopify/shopify-app-session-storage-dynamodb',
  version: versionOf('@shopify/shopify-app-session-storage-dynamodb'),
  promise: 'https://www.npmjs.com/package/@shopify/shopify-app-session-storage-dynamodb',
  tables: [table(name, 'id', undefined, { shop_index: ['shop'] })],
};

export const shopifySubjects = [
  {
    ...subject,
    property: '`findSessionsByShop()` finds both sessions of a shop, although a page ends early.',
    items: { [name]: [sessionOf('a'), sessionOf('b')] },
    requests: [async ({ client }) => ({ found: (await storageOf(client).findSessionsByShop(shop)).length })],
    faults: 1,
    kinds: ['shortPage'],
    check: ({ outcomes }) =>
      outcomes[0].value?.found === 1 ? 'The shop has two sessions, and one is found.' : undefined,
  },
  {
    ...subject,
    property: 'A session that is stored can be loaded, although DynamoDB reads an older state.',
    requests: [
      async ({ client }) => {
        const storage = storageOf(client);
        const stored = await storage.storeSession(new Session(sessionOf('a')));
        return { stored, loaded: (await storage.loadSession('a')) !== undefined };
      },
    ],
    faults: 1,
    kinds: ['stale'],
    check: ({ outcomes }) =>
      outcomes[0].value?.loaded === false
        ? 'The session is stored, and `loadSession()` does not find it.'
        : undefined,
  },
  {
    ...subject,
    ...lostAnswers,
    property: '`deleteSessions()` deletes all sessions that it gets, although an answer of DynamoDB is lost.',
    items: { [name]: [sessionOf('a'), sessionOf('b')] },
    requests: [async ({ client }) => ({ deleted: await storageOf(client).deleteSessions(['a', 'b']) })],
    check: ({ outcomes, tables }) =>
      outcomes[0].value?.deleted && tables.items(name).length > 0
        ? '`deleteSessions()` has succeeded, and a session is left.'
        : undefined,
  },
];
