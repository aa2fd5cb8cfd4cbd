import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { require, table, times, told, versionOf } from './support.mjs';

// Its ES modules name files without their extension, which Node.js does not load.
const { Command, EventStore, EventType, tuple } = require('@castore/core');
const { DynamoDBSingleTableEventStorageAdapter } = require('@castore/event-storage-adapter-dynamodb');

const accountsOf = (client) =>
  new EventStore({
    eventStoreId: 'ACCOUNTS',
    eventTypes: ['OPENED', 'DEPOSITED'].map((type) => new EventType({ type })),
    reducer: (account, { aggregateId, version, type }) => ({
      aggregateId,
      version,
      balance: (account?.balance ?? 0) + (type === 'DEPOSITED' ? 100 : 0),
    }),
    eventStorageAdapter: new DynamoDBSingleTableEventStorageAdapter({
      tableName: 'Events',
      dynamoDBClient: new DynamoDBClient(client),
    }),
  });

/** A command as the documentation has it: read the account, push the next event. @param push the last step of it */
const deposit =
  (push) =>
  async ({ client }) => {
    const accounts = accountsOf(client);
    const command = new Command({
      commandId: 'DEPOSIT',
      requiredEventStores: tuple(accounts),
      handler: async ({ aggregateId }, [store]) => {
        const { aggregate } = await store.getExistingAggregate(aggregateId);
        await push(store, { aggregateId, version: aggregate.version + 1, type: 'DEPOSITED' });
      },
    });
    await command.handler({ aggregateId: 'a' }, [accounts]);
    return { deposited: true };
  };

const subject = {
  library: '@castore/core, Command',
  version: versionOf('@castore/core'),
  promise: 'https://castore-dev.github.io/castore/docs/event-sourcing/pushing-events/',
  tables: [
    {
      ...table('Events', 'aggregateId', 'version', { initialEvents: ['eventStoreId', 'timestamp'] }),
      AttributeDefinitions: ['aggregateId', 'version', 'eventStoreId', 'timestamp'].map((AttributeName) => ({
        AttributeName,
        AttributeType: AttributeName === 'version' ? 'N' : 'S',
      })),
    },
  ],
  items: {
    Events: [
      {
        aggregateId: 'ACCOUNTS#a',
        version: 1,
        type: 'OPENED',
        eventStoreId: 'ACCOUNTS',
        timestamp: '2026-01-01T00:00:00.000Z',
      },
    ],
  },
  check: ({ outcomes, tables }) => {
    const asked = outcomes.length;
    const stored = tables.items('Events').filter(({ type }) => type === 'DEPOSITED').length;
    const succeeded = told(outcomes).filter((each) => each.deposited).length;
    if (stored < succeeded) return `${succeeded} commands succeeded, and ${stored} events are stored.`;
    return stored > asked ? `${asked} command was run, and ${stored} events are stored.` : undefined;
  },
};
const pushOne = (store, event) => store.pushEvent(event);
const pushGroup = (store, event) => EventStore.pushEventGroup(store.groupEvent(event));
const depositOne = deposit(pushOne);

export const castoreSubjects = [
  {
    ...subject,
    property: 'A command appends its event once, although an answer of DynamoDB is lost.',
    requests: [depositOne],
    faults: 1,
    kinds: ['lostAfter', 'failedAfter'],
  },
  {
    ...subject,
    property: 'Two commands at the same time append two events.',
    requests: times(2, depositOne),
  },
  {
    ...subject,
    property: 'A command that pushes a group appends its event once, although an answer of DynamoDB is lost.',
    requests: [deposit(pushGroup)],
    faults: 1,
    kinds: ['lostAfter', 'failedAfter'],
  },
];
