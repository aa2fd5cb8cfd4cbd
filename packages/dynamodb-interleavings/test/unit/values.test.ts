import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { expect, test } from 'vitest';
import { type Environment, explore, unique, verify } from '../../src/index.ts';

// Values are those of the document client, in what is given and in what is found, and those of the protocol in between.

const TableName = 'Files';
const tables = [
  {
    TableName,
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'B' }],
  },
] as const;
const documents = ({ client }: Environment) => DynamoDBDocument.from(new DynamoDB(client));
const id = new Uint8Array([1, 2, 255]);
const item = {
  id,
  data: Buffer.from('ab'),
  parts: new Set([new Uint8Array([1]), new Uint8Array([2])]),
  words: new Uint16Array([513]),
  list: [new Uint8Array([7]), { deep: new Uint8Array([8]) }, 1n, null, true, 'AAE='],
  view: new DataView(id.buffer, 1, 1),
};

test('binary data in `items` is found by its key and its value', async () => {
  const read = async (environment: Environment) => {
    const client = documents(environment);
    const { Item: found } = await client.get({ TableName, Key: { id }, ConsistentRead: true });
    await client.update({
      TableName,
      Key: { id },
      UpdateExpression: 'SET isFound = :true',
      ConditionExpression: '#data = :data AND contains(parts, :part) AND #view = :view',
      ExpressionAttributeNames: { '#data': 'data', '#view': 'view' },
      ExpressionAttributeValues: {
        ':data': item.data,
        ':part': new Uint8Array([2]),
        ':view': new Uint8Array([2]),
        ':true': true,
      },
    });
    return found;
  };
  const found: unknown[] = [];
  await verify({
    tables,
    items: { [TableName]: [item] },
    requests: [read],
    check: ({ outcomes: [outcome], tables: all }) =>
      void found.push(outcome!.status === 'fulfilled' && outcome!.value, all.items(TableName)[0]),
  });
  const expected = {
    ...item,
    data: new Uint8Array([97, 98]),
    words: new Uint8Array([1, 2]),
    list: [new Uint8Array([7]), { deep: new Uint8Array([8]) }, 1, null, true, 'AAE='],
    view: new Uint8Array([2]),
  };
  expect(found.slice(0, 2)).toEqual([expected, { ...expected, isFound: true }]);
});

test('what is not equal is unique', async () => {
  const put = (environment: Environment, owner: unknown) =>
    documents(environment).put({
      TableName,
      Item: { id: new Uint8Array([environment.name.charCodeAt(8)]), owner },
    });
  const explored = async (...owners: readonly unknown[]) =>
    (
      await explore({
        tables,
        requests: owners.map((owner) => (environment) => put(environment, owner)),
        check: unique(TableName, 'owner'),
      })
    ).failure?.sentence;
  expect(await explored(new Set(['a']), new Set(['b']))).toBeUndefined();
  expect(await explored({ name: 'a' }, { name: 'b' })).toBeUndefined();
  expect(await explored(1, '1')).toBeUndefined();
  expect(await explored({ name: 'a' }, { name: 'a' })).toBe(
    "Two items of Files have the owner { name: 'a' }.",
  );
});
