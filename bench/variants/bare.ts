import { GetCommand, QueryCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { hashOfKey, keyOfHeader } from '../../functions/access/keys.ts';
import { client } from './own-client.ts';

/**
 * Reference for the operations: the same calls to DynamoDB with the same client, without parsing, headers and logs.
 */
const { PETS_TABLE: pets, API_KEYS_TABLE: apiKeys, RATE_LIMITS_TABLE: rateLimits } = process.env;

interface Event {
  readonly requestContext: { readonly authorizer: { readonly keyHash: string } };
  readonly pathParameters: { readonly petId?: string } | null;
  readonly authorizationToken?: string;
}

/** The write that counts a request, in the common case. */
const count = ({ requestContext }: Event) =>
  client.send(
    new UpdateCommand({
      TableName: rateLimits,
      Key: { keyHash: requestContext.authorizer.keyHash },
      UpdateExpression: 'ADD #minuteCount :one, #dayCount :one',
      ConditionExpression: 'minuteCount < :many AND dayCount < :many',
      ExpressionAttributeNames: { '#minuteCount': 'minuteCount', '#dayCount': 'dayCount' },
      ExpressionAttributeValues: { ':one': 1, ':many': 1_000_000_000 },
      ReturnValues: 'ALL_NEW',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    }),
  );

const query = () =>
  client.send(
    new QueryCommand({
      TableName: pets,
      IndexName: 'byStatus',
      KeyConditionExpression: '#status = :status',
      ExpressionAttributeNames: { '#status': 'status' },
      ExpressionAttributeValues: { ':status': 'available' },
      ScanIndexForward: false,
      Limit: 21,
    }),
  );

const answer = (body: unknown) => ({ statusCode: 200, headers: {}, body: JSON.stringify(body) });

export const list = async (event: Event) => answer((await Promise.all([query(), count(event)]))[0].Items);

export const get = async (event: Event) => {
  const read = client.send(
    new GetCommand({ TableName: pets, Key: { id: BigInt(event.pathParameters?.petId ?? '') } }),
  );
  return answer((await Promise.all([read, count(event)]))[0].Item);
};

export const authorize = async (event: Event) => {
  const keyHash = hashOfKey(keyOfHeader(event.authorizationToken ?? '') ?? '');
  return (await client.send(new GetCommand({ TableName: apiKeys, Key: { keyHash }, ConsistentRead: true })))
    .Item;
};
