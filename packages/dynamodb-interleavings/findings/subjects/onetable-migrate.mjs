import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Table } from 'dynamodb-onetable';
import { Dynamo } from 'dynamodb-onetable/Dynamo';
import { loadAnew, table, times, versionOf } from './support.mjs';

const schema = {
  format: 'onetable:1.1.0',
  version: '0.0.1',
  indexes: { primary: { hash: 'pk', sort: 'sk' } },
  models: {
    Account: {
      pk: { type: String, value: 'account#${id}' },
      sk: { type: String, value: 'account#' },
      id: { type: String, required: true },
      credit: { type: Number },
    },
  },
  params: { isoDates: true, timestamps: false },
};
/** The migration library of one process, with one migration. */
async function migrateOf(client, up) {
  const { Migrate } = await loadAnew('onetable-migrate/dist/mjs/index.js');
  const db = new Table({
    name: 'App',
    client: new Dynamo({ client: new DynamoDBClient(client) }),
    partial: true,
    logger: false,
    schema,
  });
  const migrations = [{ version: '0.0.1', description: 'Credit', schema, up, down: async () => {} }];
  const migrate = new Migrate(db, { migrations, log: { info() {}, error() {} } });
  await migrate.init();
  return migrate;
}
/** What a deployment does: it applies what is outstanding. @param up the migration */
const deployed =
  (up) =>
  async ({ client }) => {
    const migrate = await migrateOf(client, up);
    for (const version of await migrate.getOutstandingVersions()) await migrate.apply('up', version);
    return { deployed: true };
  };
const outstanding = async ({ client }) => ({
  versions: await (await migrateOf(client, async () => {})).getOutstandingVersions(),
});
/** Gives every account 10 more. */
const credit = (db) => db.getModel('Account').update({ id: '1' }, { add: { credit: 10 }, return: 'none' });

const subject = {
  library: 'onetable-migrate',
  version: versionOf('onetable-migrate'),
  promise: 'https://www.npmjs.com/package/onetable-migrate',
  tables: [table('App', 'pk', 'sk')],
  items: { App: [{ pk: 'account#1', sk: 'account#', id: '1', credit: 0, _type: 'Account' }] },
};

export const oneTableMigrateSubjects = [
  {
    ...subject,
    property:
      'A migration that has failed is outstanding (`getOutstandingVersions()`: "not yet been applied").',
    requests: [
      deployed(async () => {
        throw new Error('This migration fails.');
      }),
    ],
    afterwards: [outstanding],
    check: ({ outcomes: [deployment, next] }) =>
      deployment.status === 'rejected' && next.value?.versions.length === 0
        ? 'The migration has failed, and is not outstanding.'
        : undefined,
  },
  {
    ...subject,
    property: 'Two deployments at the same time apply a migration once.',
    requests: times(2, deployed(credit)),
    check: ({ tables }) => {
      const { credit: given } = tables.items('App').find(({ _type: type }) => type === 'Account');
      return given > 10 ? `The migration gives 10, and ${given} were given.` : undefined;
    },
  },
];
