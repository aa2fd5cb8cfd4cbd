import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import middy from '@middy/core';
import { documents, table, times, told, versionOf } from './support.mjs';

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
      const orders = documents(client);
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
export const powertoolsSubjects = versions.flatMap(([name, version]) => {
  const { middy: withMiddy, wrapper } = powertools(name);
  return [
    {
      how: 'makeHandlerIdempotent (middy)',
      request: withMiddy,
      known: 'https://github.com/aws-powertools/powertools-lambda-typescript/issues/5675',
    },
    { how: 'makeIdempotent', request: wrapper },
  ].flatMap(({ how, request, known }) => [
    {
      library: `Powertools idempotency, ${how}`,
      version,
      ...idempotency,
      ...once,
      known,
      requests: times(3, request),
    },
    {
      library: `Powertools idempotency, ${how}`,
      version,
      ...idempotency,
      ...notLockedOut,
      isAccepted: true,
      requests: [request],
      afterwards: [request],
      faults: 1,
      kinds: ['lostAfter'],
    },
  ]);
});
