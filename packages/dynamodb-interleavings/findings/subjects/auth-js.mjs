import { DynamoDBAdapter } from '@auth/dynamodb-adapter';
import { documents, table, versionOf } from './support.mjs';

const adapterOf = (client) =>
  DynamoDBAdapter(
    documents(client, {
      marshallOptions: {
        convertEmptyValues: true,
        removeUndefinedValues: true,
        convertClassInstanceToMap: true,
      },
    }),
  );
const name = 'next-auth';
const expires = new Date('2027-01-01T00:00:00Z');
const user = {
  pk: 'USER#1',
  sk: 'USER#1',
  id: '1',
  type: 'USER',
  email: 'a@example.com',
  GSI1PK: 'USER#a@example.com',
  GSI1SK: 'USER#a@example.com',
};
const sessionOf = (token) => ({
  pk: 'USER#1',
  sk: `SESSION#${token}`,
  GSI1PK: `SESSION#${token}`,
  GSI1SK: `SESSION#${token}`,
  type: 'SESSION',
  sessionToken: token,
  userId: '1',
  expires: expires.getTime() / 1000,
});
const link = {
  pk: 'VT#a',
  sk: 'VT#t',
  type: 'VT',
  identifier: 'a',
  token: 't',
  expires: expires.getTime() / 1000,
};
const calling =
  (method, ...input) =>
  async ({ client }) =>
    adapterOf(client)[method](...input);

const subject = {
  library: '@auth/dynamodb-adapter',
  version: versionOf('@auth/dynamodb-adapter'),
  promise: 'https://authjs.dev/reference/core/adapters#methods',
  tables: [table(name, 'pk', 'sk', { GSI1: ['GSI1PK', 'GSI1SK'] })],
};
const isDone = ({ status }) => status === 'fulfilled';
const sessions = (tables) => tables.items(name).filter(({ type }) => type === 'SESSION').length;

export const authSubjects = [
  {
    ...subject,
    property: 'A deleted user keeps no session that began at the same time.',
    items: { [name]: [user, sessionOf('a')] },
    requests: [
      calling('deleteUser', '1'),
      calling('createSession', { sessionToken: 'b', userId: '1', expires }),
    ],
    check: ({ outcomes, tables }) =>
      outcomes.every(isDone) &&
      sessions(tables) > 0 &&
      tables.items(name).every(({ type }) => type !== 'USER')
        ? 'The user is deleted, and has a session.'
        : undefined,
  },
  {
    ...subject,
    property: '`deleteUser` deletes a user with 25 sessions.',
    items: { [name]: [user, ...Array.from({ length: 25 }, (_, index) => sessionOf(`${index}`))] },
    requests: [calling('deleteUser', '1')],
    check: ({ outcomes, tables }) =>
      outcomes.every(isDone) && tables.items(name).length > 0
        ? '`deleteUser` has succeeded, and the user is there.'
        : undefined,
  },
  {
    ...subject,
    property: '`deleteUser` deletes all, although DynamoDB does a batch in part.',
    items: { [name]: [user, sessionOf('a')] },
    requests: [calling('deleteUser', '1')],
    faults: 1,
    kinds: ['unprocessed'],
    check: ({ outcomes, tables }) =>
      outcomes.every(isDone) && tables.items(name).length > 0
        ? '`deleteUser` has succeeded, and a part of the user is left.'
        : undefined,
  },
  {
    ...subject,
    property: 'A deleted user does not come back by an update at the same time.',
    items: { [name]: [user] },
    requests: [calling('deleteUser', '1'), calling('updateUser', { id: '1', name: 'Ada' })],
    check: ({ outcomes, tables }) =>
      isDone(outcomes[0]) && tables.items(name).length > 0
        ? 'The user is deleted, and an item with a part of its fields is there.'
        : undefined,
  },
  {
    ...subject,
    property: 'Two sign-ins at the same time with a new e-mail address create one user.',
    requests: ['1', '2'].map((id) => async ({ client }) => {
      const adapter = adapterOf(client);
      if ((await adapter.getUserByEmail('a@example.com')) !== null) return { created: false };
      await adapter.createUser({ id, email: 'a@example.com', emailVerified: null });
      return { created: true };
    }),
    check: ({ tables }) => (tables.items(name).length > 1 ? 'Two users have one e-mail address.' : undefined),
  },
  {
    ...subject,
    property: 'Who follows a magic link is signed in, although an answer of DynamoDB is lost.',
    items: { [name]: [link] },
    requests: [calling('useVerificationToken', { identifier: 'a', token: 't' })],
    faults: 1,
    kinds: ['lostAfter'],
    check: ({ outcomes, tables }) =>
      isDone(outcomes[0]) && !outcomes[0].value && tables.items(name).length === 0
        ? 'The link is spent, and nobody is signed in.'
        : undefined,
  },
];
