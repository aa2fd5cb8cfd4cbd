import { DynamoDBAutoIncrement, DynamoDBHistoryAutoIncrement } from '@nasa-gcn/dynamodb-autoincrement';
import { documents, table, times, versionOf } from './support.mjs';

const widgets = {
  ...table('Widgets', 'id'),
  AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'N' }],
};
const history = {
  ...table('History', 'id', 'version'),
  AttributeDefinitions: [
    { AttributeName: 'id', AttributeType: 'S' },
    { AttributeName: 'version', AttributeType: 'N' },
  ],
};
const put = async ({ client }) =>
  new DynamoDBAutoIncrement({
    doc: documents(client, { marshallOptions: { removeUndefinedValues: true } }),
    counterTableName: 'Counters',
    counterTableKey: { name: 'widgets' },
    attributeName: 'id',
    tableName: 'Widgets',
    initialValue: 1,
  }).put({ color: 'red' });
const historyOf = (client) =>
  new DynamoDBHistoryAutoIncrement({
    doc: documents(client, { marshallOptions: { removeUndefinedValues: true } }),
    counterTableName: 'Current',
    counterTableKey: { id: 'a' },
    attributeName: 'version',
    tableName: 'History',
    initialValue: 1,
  });

const subject = {
  library: '@nasa-gcn/dynamodb-autoincrement',
  version: versionOf('@nasa-gcn/dynamodb-autoincrement'),
  promise: 'https://www.npmjs.com/package/@nasa-gcn/dynamodb-autoincrement',
};

export const autoIncrementSubjects = [
  ...[
    ['Two puts at the same time get two numbers, without a gap.', {}],
    [
      'Two puts get two numbers, without a gap, although an answer of DynamoDB is lost.',
      { faults: 1, kinds: ['lostAfter', 'lostBefore'] },
    ],
  ].map(([property, faults]) => ({
    ...subject,
    property,
    ...faults,
    tables: [table('Counters', 'name'), widgets],
    requests: times(2, put),
    check: ({ outcomes, tables }) => {
      if (outcomes.some(({ status }) => status !== 'fulfilled')) return undefined;
      const numbers = outcomes.map(({ value }) => value).toSorted((a, b) => a - b);
      return numbers.join() === '1,2' && tables.items('Widgets').length === 2
        ? undefined
        : `The numbers are ${numbers.join(', ')}.`;
    },
  })),
  {
    ...subject,
    property: '`list()` of a history has all versions, although a page ends early.',
    tables: [table('Current', 'id'), history],
    items: { History: [1, 2].map((version) => ({ id: 'a', version })), Current: [{ id: 'a', version: 3 }] },
    requests: [async ({ client }) => historyOf(client).list()],
    faults: 1,
    kinds: ['shortPage'],
    check: ({ outcomes }) =>
      outcomes[0].value?.length < 2 ? `\`list()\` has ${outcomes[0].value.length} of 2 versions.` : undefined,
  },
  {
    ...subject,
    property: '`list()` of a history has its versions in order.',
    tables: [table('Current', 'id'), history],
    items: {
      History: [1, 2, 10].map((version) => ({ id: 'a', version })),
      Current: [{ id: 'a', version: 11 }],
    },
    requests: [async ({ client }) => historyOf(client).list()],
    check: ({ outcomes }) =>
      String(outcomes[0].value) === '1,2,10'
        ? undefined
        : `\`list()\` gives ${outcomes[0].value?.join(', ')}.`,
  },
];
