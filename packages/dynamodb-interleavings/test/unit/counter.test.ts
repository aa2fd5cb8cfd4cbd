import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { expect, test } from 'vitest';
import { type Request, verify } from '../../src/index.ts';

const TableName = 'Counters';
const Key = { id: 'visits' };

async function increment(client: DynamoDBDocument): Promise<void> {
  const { Item: item } = await client.get({ TableName, Key, ConsistentRead: true });
  await client.put({ TableName, Item: { ...Key, count: (item?.['count'] ?? 0) + 1 } });
}

test('two visits at the same time are both counted', async () => {
  const visit: Request = ({ client }) => increment(DynamoDBDocument.from(new DynamoDB(client)));
  const visits = verify({
    tables: [
      {
        TableName,
        KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
        AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
      },
    ],
    requests: [visit, visit],
    time: 3_000,
  });
  await expect(visits).rejects.toThrow('The result is not serializable');
});
