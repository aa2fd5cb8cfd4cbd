import {
  type AttributeValue,
  type CreateTableCommandInput,
  type DynamoDBClient,
  GetItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';

/**
 * Makes one call of each kind and writes nothing. The first calls of DynamoDB Local take many times longer than the
 * following ones, and the time-outs of functions are made for DynamoDB.
 */
export async function warm(
  client: DynamoDBClient,
  { TableName, KeySchema = [], AttributeDefinitions = [] }: CreateTableCommandInput,
): Promise<void> {
  const names = KeySchema.map(({ AttributeName }) => AttributeName ?? '');
  const Key = Object.fromEntries(
    names.map((name) => {
      const type = AttributeDefinitions.find(({ AttributeName }) => AttributeName === name)?.AttributeType;
      return [name, anyValue(type)];
    }),
  );
  const [hash = ''] = names;
  const ExpressionAttributeNames = { '#key': hash };
  const never = {
    ConditionExpression: 'attribute_exists(#key) AND attribute_not_exists(#key)',
    ExpressionAttributeNames,
  };
  await Promise.allSettled([
    client.send(new GetItemCommand({ TableName, Key })),
    client.send(
      new QueryCommand({
        TableName,
        KeyConditionExpression: '#key = :key',
        ExpressionAttributeNames,
        ExpressionAttributeValues: { ':key': Key[hash] ?? anyValue('S') },
        Limit: 1,
      }),
    ),
    client.send(new UpdateItemCommand({ TableName, Key, ...never })),
    client.send(
      new TransactWriteItemsCommand({ TransactItems: [{ Put: { TableName, Item: Key, ...never } }] }),
    ),
  ]);
}

function anyValue(type: string | undefined): AttributeValue {
  if (type === 'N') return { N: '0' };
  return type === 'B' ? { B: Buffer.from('key') } : { S: 'key' };
}
