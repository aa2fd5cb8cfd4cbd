import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { MessageBuilder } from '@adonisjs/core/helpers';
// The package names its stores to the framework only.
import { DynamoDBStore as AdonisStore } from '../node_modules/@adonisjs/session/build/dynamodb-nEkT0y0j.js';
import { lostAnswers, require, table, versionOf } from './support.mjs';

// @pwrdrvr/dynamodb-session-store 1.1.0 calls this helper of TypeScript, which its package lacks.
globalThis.__importDefault ??= (module) => (module?.__esModule ? module : { default: module });
const connect = require('connect-dynamodb');
const { Cookie } = require('express-session');
const { DynamoDBStore: PwrdrvrStore } = require('@pwrdrvr/dynamodb-session-store');
const { DynamoDBSessionStore } = require('serverless-dynamodb-session-store');

/** Its table is there. */
class ServerlessStore extends DynamoDBSessionStore {
  async createTableIfNotExists() {}
}

/** A store of express-session, which hands it a cookie and a callback. */
function forExpress(store) {
  const method =
    (name) =>
    (...input) =>
      new Promise((resolve, reject) => {
        const [id, data] = input;
        const session = data && { ...data, cookie: new Cookie({ maxAge: 3_600_000 }) };
        store[name](...[id, session].filter(Boolean), (error, result) =>
          error ? reject(error) : resolve(result),
        );
      });
  const names = ['get', 'set', 'touch', 'destroy', 'reap', 'length'];
  return Object.fromEntries(names.map((name) => [name, method(name)]));
}

/** A client that sends expressions instead of what they have replaced, which the simulation does not have. */
function withExpressions(client) {
  const translate = (next) => (call) => {
    const { ScanFilter: filter, AttributesToGet: names, ...input } = call.input;
    if (filter === undefined) return next(call);
    const [[name, { AttributeValueList: values }]] = Object.entries(filter);
    return next({
      ...call,
      input: {
        ...input,
        FilterExpression: `${name} < :value`,
        ExpressionAttributeValues: { ':value': values[0] },
        ProjectionExpression: names.join(),
      },
    });
  };
  client.middlewareStack.add(translate, { step: 'initialize' });
  return client;
}

/** What a store of express-session has of the session of user 1. @param expires in Unix seconds, as below */
const storedOf = (expires) => ({
  user: 1,
  cookie: { originalMaxAge: 3_600_000, expires: new Date(expires * 1_000).toISOString() },
});

const stores = {
  '@adonisjs/session': {
    promise: 'https://docs.adonisjs.com/guides/session',
    key: 'key',
    open(client) {
      const store = new AdonisStore(new DynamoDBClient(client), 7_200, { tableName: 'sessions' });
      return {
        get: (id) => store.read(id),
        set: (id, data) => store.write(id, data),
        touch: (id) => store.touch(id),
        destroy: (id) => store.destroy(id),
      };
    },
    itemOf: (key, expires) => ({
      key,
      value: new MessageBuilder().build({ user: 1 }, undefined, key),
      expires_at: expires * 1_000,
    }),
  },
  'connect-dynamodb': {
    promise: 'https://www.npmjs.com/package/connect-dynamodb',
    key: 'id',
    open(client) {
      const Store = connect({ Store: function Store() {} });
      const store = new Store({
        client: withExpressions(new DynamoDBClient(client)),
        table: 'sessions',
        prefix: '',
      });
      // Its table is there.
      store.initialized = true;
      return forExpress(store);
    },
    itemOf: (id, expires) => ({
      id,
      expires,
      type: 'connect-session',
      sess: JSON.stringify(storedOf(expires)),
    }),
  },
  '@pwrdrvr/dynamodb-session-store': {
    promise: 'https://www.npmjs.com/package/@pwrdrvr/dynamodb-session-store',
    key: 'id',
    open: (client) =>
      forExpress(new PwrdrvrStore({ dynamoDBClient: new DynamoDBClient(client), prefix: '' })),
    itemOf: (id, expires) => ({ id, expires, sess: storedOf(expires) }),
  },
  'serverless-dynamodb-session-store': {
    promise: 'https://www.npmjs.com/package/serverless-dynamodb-session-store',
    key: 'sessionId',
    open: (client) => forExpress(new ServerlessStore({ client: new DynamoDBClient(client) })),
    itemOf: (sessionId, expires) => ({
      sessionId,
      expireTime: expires * 1_000,
      expireTime_TTL: expires,
      session_data: JSON.stringify(storedOf(expires)),
    }),
  },
};

const justExpired = Date.parse('2026-01-01T00:00:00Z') / 1_000 - 1;
const later = Date.parse('2030-01-01T00:00:00Z') / 1_000;

function of(library) {
  const { promise, key, open, itemOf } = stores[library];
  return {
    subject: { library, version: versionOf(library), promise, tables: [table('sessions', key)] },
    /** A request that calls a method of the store. */
    call:
      (method, ...input) =>
      async ({ client }) => ({ [method]: (await open(client)[method](...input)) ?? true }),
    /** Items of `count` sessions: `a`, `b` and so on. */
    sessions: (count, expires = later) => ({
      sessions: Array.from({ length: count }, (_, index) =>
        itemOf(String.fromCodePoint(97 + index), expires),
      ),
    }),
  };
}

/** What is asked of every store: requests of one user at the same time, and a session that is over. */
function ofEveryStore({ subject, call, sessions }) {
  // The end of a request that has read the session before.
  const touch = call('touch', 'a', { user: 1 });
  const get = call('get', 'a');
  return [
    {
      ...subject,
      property:
        'A session that is destroyed stays destroyed, although another request touches it and an answer is lost.',
      ...lostAnswers,
      items: sessions(1),
      requests: [call('destroy', 'a'), touch],
      afterwards: [get],
      check: ({ outcomes: [destroyed, , next] }) =>
        destroyed.status === 'fulfilled' && next.value?.get.user === 1
          ? 'The session is destroyed, and the next request gets it.'
          : undefined,
    },
    {
      ...subject,
      property:
        'What a request saves in a session stays there, although another request touches it and an answer is lost.',
      ...lostAnswers,
      items: sessions(1),
      requests: [call('set', 'a', { user: 1, cart: 7 }), touch],
      afterwards: [get],
      check: ({ outcomes: [saved, , next] }) =>
        saved.status === 'fulfilled' && next.value?.get.cart !== 7
          ? 'The change is saved, and the next request does not get it.'
          : undefined,
    },
    {
      ...subject,
      property: 'A session that has expired is not returned, although DynamoDB has not deleted it yet.',
      items: sessions(1, justExpired),
      requests: [get],
      check: ({ outcomes: [read] }) =>
        read.value?.get.user === 1 ? 'The session has expired, and is returned.' : undefined,
    },
  ];
}

const adonis = of('@adonisjs/session');
const connectDynamoDb = of('connect-dynamodb');
const pwrdrvr = of('@pwrdrvr/dynamodb-session-store');
const serverless = of('serverless-dynamodb-session-store');

export const sessionSubjects = [
  ...ofEveryStore(adonis),
  {
    ...adonis.subject,
    property: 'A flash message is there in the next request, although DynamoDB reads an older state.',
    requests: [
      // The request that stores the message, and the one that its redirect leads to.
      async (environment) => {
        await adonis.call('set', 'a', { flash: 'Thanks' })(environment);
        return adonis.call('get', 'a')(environment);
      },
    ],
    faults: 1,
    kinds: ['stale'],
    check: ({ outcomes: [read] }) =>
      read.value?.get.flash === undefined
        ? 'The message is stored, and the next request does not read it.'
        : undefined,
  },
  ...ofEveryStore(connectDynamoDb),
  {
    ...connectDynamoDb.subject,
    property: 'A session that a request renews while `reap()` runs is kept.',
    items: connectDynamoDb.sessions(1, justExpired),
    // The first has read the session before it expired.
    requests: [connectDynamoDb.call('touch', 'a', { user: 1 }), connectDynamoDb.call('reap')],
    check: ({ outcomes: [touched], tables }) =>
      touched.status === 'fulfilled' && tables.items('sessions').length === 0
        ? 'The session is renewed for an hour, and is deleted.'
        : undefined,
  },
  ...ofEveryStore(pwrdrvr),
  {
    ...pwrdrvr.subject,
    property: 'A session that connect-dynamodb has stored is renewed after the migration.',
    items: connectDynamoDb.sessions(1),
    requests: [pwrdrvr.call('touch', 'a', { user: 1 })],
    check: ({ outcomes: [touched] }) =>
      touched.status === 'rejected' ? '`touch()` fails, and the session is not renewed.' : undefined,
  },
  ...ofEveryStore(serverless),
  ...[0, 26].map((count) => ({
    ...serverless.subject,
    property: `\`reap()\` succeeds when ${count === 0 ? 'no session has' : `${count} sessions have`} expired.`,
    items: serverless.sessions(count, justExpired),
    requests: [serverless.call('reap')],
    check: ({ outcomes: [reaped] }) =>
      reaped.status === 'rejected' ? '`reap()` fails, and deletes nothing.' : undefined,
  })),
  {
    ...serverless.subject,
    property: '`length()` counts two sessions, although a page ends early.',
    items: serverless.sessions(2),
    requests: [serverless.call('length')],
    faults: 1,
    kinds: ['shortPage'],
    check: ({ outcomes: [counted] }) =>
      counted.value?.length === 1 ? '`length()` says that there is one session.' : undefined,
  },
];
