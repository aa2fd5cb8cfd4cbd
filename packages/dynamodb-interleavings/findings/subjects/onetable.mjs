import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Dynamo } from 'dynamodb-onetable/Dynamo';
import { Table } from 'dynamodb-onetable';
import { table, told, versionOf } from './support.mjs';

const uniqueOf = (email) => ({ pk: `_unique#User#email#${email}`, sk: '_unique#' });

/** The model of users, whose e-mail addresses are unique. */
const usersOf = (client) =>
  new Table({
    name: 'App',
    client: new Dynamo({ client: new DynamoDBClient(client) }),
    partial: false,
    schema: {
      format: 'onetable:1.1.0',
      version: '0.0.1',
      indexes: { primary: { hash: 'pk', sort: 'sk' } },
      models: {
        User: {
          pk: { type: String, value: 'user#${id}' },
          sk: { type: String, value: 'user#' },
          id: { type: String, required: true },
          email: { type: String, unique: true, required: true },
        },
      },
      params: { isoDates: true, timestamps: false },
    },
  }).getModel('User');

const change =
  (email) =>
  async ({ client }) => {
    await usersOf(client).update({ id: '1', email }, { return: 'none' });
    return { changed: email };
  };
/** What a later user is told who takes an address that nobody has. */
const take =
  (emails) =>
  async ({ client }) => {
    const users = usersOf(client);
    const user = await users.get({ id: '1' });
    const free = emails.filter((email) => email !== user.email);
    const refused = [];
    for (const [index, email] of free.entries())
      await users.create({ id: String(index + 2), email }).catch((error) => {
        if (error.code !== 'UniqueError') throw error;
        refused.push(email);
      });
    return { refused };
  };

export const oneTableSubjects = [
  {
    library: 'dynamodb-onetable, unique',
    version: versionOf('dynamodb-onetable'),
    promise: 'https://doc.onetable.io/api/table/schemas/attributes/',
    property:
      'An address that no user has any more can be taken, after two changes of a user at the same time.',
    tables: [table('App', 'pk', 'sk')],
    items: {
      App: [
        { pk: 'user#1', sk: 'user#', id: '1', email: 'a@example.com', _type: 'User' },
        { ...uniqueOf('a@example.com'), _type: '_Unique' },
      ],
    },
    requests: ['b@example.com', 'c@example.com'].map(change),
    afterwards: [take(['a@example.com', 'b@example.com', 'c@example.com'])],
    check: ({ outcomes }) => {
      const { refused, error } = told(outcomes).at(-1);
      if (error !== undefined) return error;
      return refused.length > 0
        ? `No user has the address ${refused.join(' and ')}, and nobody can take it.`
        : undefined;
    },
  },
];
