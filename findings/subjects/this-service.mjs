import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { admit } from '../../functions/access/limiter.ts';
import { StrictProtocol } from '../../functions/dynamodb/protocol.ts';
import { BriefRetryStrategy, maxAttempts } from '../../functions/dynamodb/retry-strategy.ts';
import { createPetOnce } from '../../functions/pets/idempotent-creation.ts';
import { atMost, table, times, told } from './support.mjs';

// As functions/dynamodb/connection.ts makes it.
const documentsOf = (client) =>
  DynamoDBDocumentClient.from(
    new DynamoDBClient({
      ...client,
      protocol: StrictProtocol,
      retryStrategy: new BriefRetryStrategy(0),
      maxAttempts,
    }),
    { unmarshallOptions: { wrapNumbers: true } },
  );
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

export const serviceSubjects = [
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
