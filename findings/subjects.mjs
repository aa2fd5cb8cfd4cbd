import { createRequire } from 'node:module';
import { DynamoDB, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocument, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import middy from '@middy/core';
import { Entity } from 'electrodb';
import { admit } from '../functions/access/limiter.ts';
import { newClient } from '../functions/dynamodb/client.ts';
import { createPetOnce } from '../functions/pets/idempotent-creation.ts';

/*
 * What is run: a library, a property in one sentence, requests and faults. Each request returns what its code was told, so that the
 * same check judges the simulation and a running engine.
 */

const require = createRequire(import.meta.url);
const versionOf = (name) => require(`./node_modules/${name}/package.json`).version;

const table = (name, partition, sort) => ({
  TableName: name,
  KeySchema: [
    { AttributeName: partition, KeyType: 'HASH' },
    ...(sort ? [{ AttributeName: sort, KeyType: 'RANGE' }] : []),
  ],
  AttributeDefinitions: [partition, ...(sort ? [sort] : [])].map((each) => ({
    AttributeName: each,
    AttributeType: 'S',
  })),
});
const times = (count, request) => Array.from({ length: count }, () => request);
const told = (outcomes) => outcomes.map(({ value, reason }) => value ?? { error: String(reason) });

const powertools = (name) => {
  const load = async () => ({
    ...(await import(name)),
    ...(await import(`${name}/dynamodb`)),
    ...(await import(`${name}/middleware`)),
  });
  const config = ({ IdempotencyConfig }) => new IdempotencyConfig({ throwOnNoIdempotencyKey: true });
  const store = ({ DynamoDBPersistenceLayer }, client) =>
    new DynamoDBPersistenceLayer({ tableName: 'Idempotency', awsSdkV3Client: new DynamoDBClient(client) });
  const context = { getRemainingTimeInMillis: () => 10_000 };
  const event = { order: 7 };
  /** Whether the work was done in this request, and what its caller was told. */
  const run = async (client, prepare) => {
    let worked = false;
    const handler = await prepare(async () => {
      const orders = DynamoDBDocument.from(new DynamoDB(client));
      await orders.get({ TableName: 'Orders', Key: { id: '7' } });
      worked = true;
      return { done: 7 };
    });
    try {
      const returned = await handler(event, context);
      return { worked, returned };
    } catch (error) {
      return { worked, error: error.name };
    }
  };
  return {
    middy: ({ client }) =>
      run(client, async (work) => {
        const library = await load();
        const options = { persistenceStore: store(library, client), config: config(library) };
        return middy(work).use(library.makeHandlerIdempotent(options));
      }),
    wrapper: ({ client }) =>
      run(client, async (work) => {
        const library = await load();
        const options = { persistenceStore: store(library, client), config: config(library) };
        return library.makeIdempotent(work, options);
      }),
  };
};

const idempotency = {
  tables: [table('Idempotency', 'id'), table('Orders', 'id')],
  promise: 'https://docs.aws.amazon.com/powertools/typescript/latest/features/idempotency/',
};
const once = {
  property: 'Of equal requests at the same time, one does the work.',
  check: ({ outcomes }) => {
    const worked = told(outcomes).filter((each) => each.worked).length;
    return worked > 1 ? `The work was done ${worked} times.` : undefined;
  },
};
const notLockedOut = {
  property: 'A request or the one after it does the work, although the first answer of DynamoDB is lost.',
  check: ({ outcomes }) =>
    told(outcomes).some((each) => each.worked)
      ? undefined
      : 'The record of the first request refuses it and the next one.',
};
const versions = [
  ['idempotency-2.33', versionOf('idempotency-2.33')],
  ['@aws-lambda-powertools/idempotency', versionOf('@aws-lambda-powertools/idempotency')],
];
const idempotencySubjects = versions.flatMap(([name, version]) => {
  const { middy: withMiddy, wrapper } = powertools(name);
  const issue = 'https://github.com/aws-powertools/powertools-lambda-typescript/issues/5675';
  return [
    { how: 'makeHandlerIdempotent (middy)', request: withMiddy, issueOfOnce: issue },
    { how: 'makeIdempotent', request: wrapper },
  ].flatMap(({ how, request, issueOfOnce }) => [
    {
      library: `Powertools idempotency, ${how}`,
      version,
      ...idempotency,
      ...once,
      issue: issueOfOnce,
      requests: times(3, request),
    },
    {
      library: `Powertools idempotency, ${how}`,
      version,
      ...idempotency,
      ...notLockedOut,
      requests: [request],
      afterwards: [request],
      faults: 1,
      kinds: ['lostAfter'],
    },
  ]);
});

const limiter =
  (duration) =>
  async ({ client }) => {
    const { RateLimiterDynamo } = require('rate-limiter-flexible');
    const options = { tableName: 'Limits', tableCreated: true, ttlSet: true, points: 2, duration };
    const limits = new RateLimiterDynamo({ ...options, storeClient: new DynamoDB(client) });
    try {
      await limits.consume('key');
      return { admitted: true };
    } catch (error) {
      if (error instanceof Error) throw error;
      return { admitted: false };
    }
  };
const atMost =
  (limit) =>
  ({ outcomes }) => {
    const admitted = told(outcomes).filter((each) => each.admitted).length;
    return admitted > limit ? `${admitted} requests were admitted.` : undefined;
  };
const flexible = {
  library: 'rate-limiter-flexible, RateLimiterDynamo',
  version: versionOf('rate-limiter-flexible'),
  tables: [table('Limits', 'key')],
  promise: 'https://github.com/animir/node-rate-limiter-flexible/wiki/Options',
  check: atMost(2),
};

/** A read and a write of a counter, which only a lock keeps apart. */
async function visit(client) {
  const documents = DynamoDBDocument.from(new DynamoDB(client));
  const { Item: item } = await documents.get({
    TableName: 'Counters',
    Key: { id: 'a' },
    ConsistentRead: true,
  });
  await documents.put({ TableName: 'Counters', Item: { id: 'a', count: (item?.count ?? 0) + 1 } });
}
const locked = async ({ client }) => {
  const { dynamoDBLockClientFactory } = require('@deliveryhero/dynamodb-lock');
  const locks = dynamoDBLockClientFactory(DynamoDBDocument.from(new DynamoDB(client)));
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

const created = async ({ client }) => {
  const users = new Entity(
    {
      model: { entity: 'user', version: '1', service: 'app' },
      attributes: { email: { type: 'string', required: true }, owner: { type: 'string' } },
      indexes: { primary: { pk: { field: 'pk', composite: ['email'] }, sk: { field: 'sk', composite: [] } } },
    },
    { client: DynamoDBDocumentClient.from(new DynamoDBClient(client)), table: 'App' },
  );
  try {
    await users.create({ email: 'a@example.com', owner: 'me' }).go();
    return { created: true };
  } catch (error) {
    if (!/conditional request failed/i.test(error.message)) throw error;
    return { created: false };
  }
};
const electro = {
  library: 'ElectroDB, create()',
  version: versionOf('electrodb'),
  tables: [table('App', 'pk', 'sk')],
  promise: 'https://electrodb.dev/en/mutations/create/',
  requests: times(2, created),
};

const documentsOf = (client) =>
  DynamoDBDocumentClient.from(newClient({ ...client, throttlingRetries: 0 }), {
    unmarshallOptions: { wrapNumbers: true },
  });
const seconds = () => Math.floor(Date.now() / 1_000);
const limited =
  (perMinute) =>
  async ({ client }) => {
    const usage = { client: documentsOf(client), tableName: 'RateLimits' };
    const request = { keyHash: 'a'.repeat(64), limits: { perMinute, perDay: 10 } };
    try {
      const { kind } = await admit(usage, { ...request, now: seconds() });
      return { admitted: kind === 'admitted' };
    } catch (error) {
      return { failed: error.name };
    }
  };
const createdOnce = async ({ client }) => {
  const [pets, records] = ['Pets', 'Records'].map((tableName) => ({
    client: documentsOf(client),
    tableName,
  }));
  const newPet = { name: 'Rex', categoryId: 7n, status: 'available' };
  const outcome = await createPetOnce(pets, records, newPet, {
    recordId: 'record',
    body: 'body',
    now: seconds(),
    newId: () => BigInt(Math.floor(Math.random() * 2 ** 50)),
    onCollision: () => {},
  }).catch((error) => ({ kind: 'failed', error: error.name }));
  return { kind: outcome.kind, id: outcome.pet && String(outcome.pet.id) };
};

export const subjects = [
  ...idempotencySubjects,
  {
    ...flexible,
    property: 'Of three requests at the same time with 2 points in 60 s, two are admitted.',
    requests: times(3, limiter(60)),
  },
  {
    ...flexible,
    property: 'The same, although an answer of DynamoDB is lost.',
    requests: times(3, limiter(60)),
    faults: 1,
    kinds: ['lostAfter', 'lostBefore'],
  },
  {
    ...flexible,
    property: 'Of three requests with 2 points and `duration: 0` ("never reset points"), two are admitted.',
    requests: times(3, limiter(0)),
  },
  { ...lockSubject, property: 'Two who visit under the lock do not meet.' },
  {
    ...lockSubject,
    property: 'The same, although an answer of DynamoDB is lost.',
    faults: 1,
    kinds: ['lostAfter', 'lostBefore'],
  },
  {
    ...electro,
    property: 'Of two creations of one item, not more than one is told that it created it.',
    faults: 1,
    check: ({ outcomes }) =>
      told(outcomes).filter((each) => each.created).length > 1
        ? 'Both were told that they created it.'
        : undefined,
  },
  {
    ...electro,
    property: 'If the item is there, one of the creations is told that it created it.',
    faults: 1,
    kinds: ['lostAfter'],
    check: ({ outcomes, tables }) =>
      tables.items('App').length > 0 && told(outcomes).every((each) => each.created === false)
        ? 'The item was created, and both were told that another one had done it.'
        : undefined,
  },
  {
    library: 'this service: rate limiter',
    version: '',
    promise: '../docs/limits.md',
    property: 'Of three requests at the same time with 2 in a minute, not more than two are admitted.',
    tables: [table('RateLimits', 'keyHash')],
    requests: times(3, limited(2)),
    check: atMost(2),
  },
  {
    library: 'this service: rate limiter',
    version: '',
    promise: '../docs/limits.md',
    property:
      'Of two requests with one in a minute, not more than one is admitted, with any fault of a call.',
    tables: [table('RateLimits', 'keyHash')],
    requests: times(2, limited(1)),
    faults: 1,
    check: atMost(1),
  },
  {
    library: 'this service: creation with an Idempotency-Key',
    version: '',
    promise: '../docs/api.md',
    property:
      'Of equal requests, one creates an animal, and who is answered gets it, with any fault of a call.',
    tables: [
      { ...table('Pets', 'id'), AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'N' }] },
      table('Records', 'id'),
    ],
    requests: times(2, createdOnce),
    faults: 1,
    check: ({ outcomes, tables }) => {
      const pets = tables.items('Pets').map(({ id }) => String(id));
      if (pets.length > 1) return `${pets.length} animals were created.`;
      const others = told(outcomes).filter(({ id }) => id !== undefined && id !== pets[0]);
      return others.length > 0 ? 'A client got an animal that is not stored.' : undefined;
    },
  },
];
