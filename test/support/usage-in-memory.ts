import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import type { Item, Tables } from 'dynamodb-interleavings';
import { Refusal } from 'dynamodb-interleavings/simulation';
import { serviceTables } from './table-shapes.ts';

/** The RateLimits table in memory, and a client that updates it without the SDK: for thousands of requests. */
export function usageInMemory(onWrite: () => void = () => {}): {
  readonly client: DynamoDBDocumentClient;
  readonly tables: Tables;
  readonly put: (usage: object) => void;
} {
  const tables = serviceTables(() => 0);
  const send = async (command: unknown) => {
    onWrite();
    if (!(command instanceof UpdateCommand)) throw new Error('Only UpdateCommand is known.');
    const { Key: key, ExpressionAttributeValues: values, ...input } = command.input;
    try {
      const update = { ...input, Key: marshall(key), ExpressionAttributeValues: marshall(values) };
      const { Attributes: item } = tables.call('UpdateItem', update) as { Attributes: Item };
      return { Attributes: unmarshall(item as never, { wrapNumbers: true }) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw new ConditionalCheckFailedException({ message: error.type, $metadata: {}, ...error.members });
    }
  };
  return {
    client: { send } as unknown as DynamoDBDocumentClient,
    tables,
    put: (usage) => tables.put('RateLimits', marshall(usage) as Readonly<Record<string, never>>),
  };
}
