import { documents, require, table, times, told, versionOf } from './support.mjs';

/** A read and a write of a counter, which only a lock keeps apart. */
async function visit(client) {
  const counters = documents(client);
  const { Item: item } = await counters.get({
    TableName: 'Counters',
    Key: { id: 'a' },
    ConsistentRead: true,
  });
  await counters.put({ TableName: 'Counters', Item: { id: 'a', count: (item?.count ?? 0) + 1 } });
}
const locked = async ({ client }) => {
  const { dynamoDBLockClientFactory } = require('@deliveryhero/dynamodb-lock');
  const locks = dynamoDBLockClientFactory(documents(client));
  const lock = await locks.lock('group', 'a', { leaseDurationInMs: 5_000, prolongLeaseEnabled: false });
  await visit(client);
  await locks.releaseLock(lock);
  return { visited: true };
};
const lockSubject = {
  library: '@deliveryhero/dynamodb-lock',
  version: versionOf('@deliveryhero/dynamodb-lock'),
  promise: 'https://www.npmjs.com/package/@deliveryhero/dynamodb-lock',
  tables: [table('LockTable', 'lockId', 'lockGroup'), table('Counters', 'id')],
  requests: times(2, locked),
  check: ({ outcomes, tables }) => {
    const visited = told(outcomes).filter((each) => each.visited).length;
    const [counter] = tables.items('Counters');
    return (counter?.count ?? 0) < visited
      ? `${visited} visits under the lock, and ${counter?.count ?? 0} counted.`
      : undefined;
  },
};

export const dynamoDbLockSubjects = [
  { ...lockSubject, property: 'Two who visit under the lock do not meet.' },
  {
    ...lockSubject,
    property: 'Two who visit under the lock do not meet, although an answer of DynamoDB is lost.',
    faults: 1,
    kinds: ['lostAfter', 'lostBefore'],
  },
  {
    ...lockSubject,
    property:
      'Two who visit under the lock do not meet, although a process stands still for longer than its lease.',
    isAccepted: true,
    faults: 1,
    kinds: ['paused'],
  },
];
