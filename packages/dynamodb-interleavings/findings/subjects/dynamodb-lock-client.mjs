import { callbackify } from 'node:util';
import { documents, require, table, versionOf } from './support.mjs';

/** The DocumentClient of the AWS SDK v2, which the library takes, on that of v3. */
function documentClient(client) {
  const v3 = documents(client);
  const calling = (method) =>
    callbackify(async (input) => {
      try {
        return await v3[method](input);
      } catch (error) {
        throw Object.assign(error, { code: error.name });
      }
    });
  return { get: calling('get'), put: calling('put'), delete: calling('delete') };
}
const acquire = (kind, client, config) =>
  new Promise((resolve, reject) => {
    const locks = require('dynamodb-lock-client')[kind];
    new locks({
      dynamodb: documentClient(client),
      lockTable: 'Locks',
      partitionKey: 'id',
      owner: 'me',
      retryCount: 0,
      ...config,
    }).acquireLock('report', (error, lock) => (error ? reject(error) : resolve(lock)));
  });
const release = (lock) =>
  new Promise((resolve, reject) => lock.release((error) => (error ? reject(error) : resolve())));
const lease = { leaseDurationMs: 10_000, trustLocalTime: true };
const locked =
  (kind, config, worksMs = 0) =>
  async ({ client }) => {
    const lock = await acquire(kind, client, config);
    if (worksMs > 0) await new Promise((resolve) => setTimeout(resolve, worksMs));
    await release(lock);
    return { done: true };
  };

const subject = {
  library: 'dynamodb-lock-client',
  version: versionOf('dynamodb-lock-client'),
  promise: 'https://www.npmjs.com/package/dynamodb-lock-client',
  tables: [table('Locks', 'id')],
};

export const dynamoDbLockClientSubjects = [
  {
    ...subject,
    property: 'FailClosed: after a lost answer, someone has the lock or can get it.',
    requests: [locked('FailClosed', { acquirePeriodMs: 1_000 })],
    afterwards: [locked('FailClosed', { acquirePeriodMs: 1_000 })],
    faults: 1,
    kinds: ['lostAfter'],
    check: ({ outcomes }) =>
      outcomes[1].status === 'rejected' ? 'Nobody has the lock, and nobody can get it.' : undefined,
  },
  {
    ...subject,
    known: 'https://github.com/tristanls/dynamodb-lock-client/pull/35',
    property: 'FailOpen: a lock that was released is free, although a heartbeat was under way.',
    requests: [locked('FailOpen', { ...lease, heartbeatPeriodMs: 3_000 }, 3_000)],
    check: ({ outcomes, tables }) =>
      outcomes[0].status === 'fulfilled' && tables.items('Locks')[0]?.leaseDurationMs > 1
        ? 'The lock is released, and stays locked for its lease.'
        : undefined,
  },
  {
    ...subject,
    property: 'FailOpen: who got the lock is told so, although an answer is lost.',
    requests: [locked('FailOpen', lease)],
    faults: 1,
    kinds: ['lostAfter'],
    check: ({ outcomes, tables }) =>
      outcomes[0].status === 'rejected' && tables.items('Locks').length > 0
        ? 'The lock is held by a request that was told it is not.'
        : undefined,
  },
];
