import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { require, table, versionOf } from './support.mjs';

const { EventStoreFactory } = require('event-store-adapter-js');

const id = { typeName: 'account', value: '1', asString: () => 'account-1' };
const encoded = (value) => new TextEncoder().encode(JSON.stringify(value));
const stored = (sequence, fields) => ({
  pkey: 'account-0',
  skey: `account-1-${sequence}`,
  aid: 'account-1',
  seq_nr: sequence,
  ...fields,
});
const eventOf = (sequence) =>
  stored(sequence, { payload: encoded({ type: 'Deposited', data: { amount: 10 } }) });

const storeOf = (client) =>
  EventStoreFactory.ofDynamoDB(
    new DynamoDBClient(client),
    'journal',
    'snapshot',
    'journal-aid',
    'snapshot-aid',
    1,
    ({ data }) => data,
    ({ data }) => ({ ...data, withVersion: (version) => ({ ...data, version }) }),
  );
/** The repository of the README: the snapshot, and the events since then. */
const balance = async ({ client }) => {
  const store = storeOf(client);
  const snapshot = await store.getLatestSnapshotById(id);
  const events = await store.getEventsByIdSinceSequenceNumber(id, snapshot.sequenceNumber + 1);
  return { balance: events.reduce((sum, { amount }) => sum + amount, snapshot.balance) };
};
const withSequence = (definition) => ({
  ...definition,
  AttributeDefinitions: definition.AttributeDefinitions.map((each) => ({
    ...each,
    AttributeType: each.AttributeName === 'seq_nr' ? 'N' : 'S',
  })),
});

export const eventStoreSubjects = [
  {
    library: 'event-store-adapter-js',
    version: versionOf('event-store-adapter-js'),
    promise: 'https://www.npmjs.com/package/event-store-adapter-js',
    property: 'An aggregate has all its events, although a page ends early.',
    tables: [
      withSequence(table('journal', 'pkey', 'skey', { 'journal-aid': ['aid', 'seq_nr'] })),
      withSequence(table('snapshot', 'pkey', 'skey', { 'snapshot-aid': ['aid', 'seq_nr'] })),
    ],
    items: {
      journal: [eventOf(2), eventOf(3)],
      snapshot: [
        stored(0, {
          version: 1,
          payload: encoded({ type: 'Account', data: { sequenceNumber: 1, balance: 0 } }),
        }),
      ],
    },
    requests: [balance],
    faults: 1,
    kinds: ['shortPage'],
    check: ({ outcomes: [{ value }] }) =>
      value !== undefined && value.balance !== 20
        ? `The account has 20, and the aggregate says ${value.balance}.`
        : undefined,
  },
];
