import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { Entity } from 'electrodb';
import { table, times, told, versionOf } from './support.mjs';

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

export const electroSubjects = [
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
    isAccepted: true,
    faults: 1,
    kinds: ['lostAfter'],
    check: ({ outcomes, tables }) =>
      tables.items('App').length > 0 && told(outcomes).every((each) => each.created === false)
        ? 'The item was created, and both were told that another one had done it.'
        : undefined,
  },
];
