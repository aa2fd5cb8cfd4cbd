import { createRequire } from 'node:module';
import { ConditionalCheckFailedException, DynamoDB, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { assembledClient } from '../../functions/dynamodb/assembled-client.ts';
import { Clock } from '../../functions/dynamodb/clock.ts';
import { rateLimiter } from '../../functions/http/limit-requests.ts';
import type { Recorder } from '../../functions/http/telemetry.ts';
import type { SimulatedTable } from './simulated-table.ts';

/** `retryAfter`: milliseconds. */
export type Outcome =
  { readonly kind: 'admitted' } | { readonly kind: 'rejected'; readonly retryAfter: number };

/** A limiter in one execution environment. It rejects with an error if it leaves the decision to its caller. */
export type Ask = () => Promise<Outcome>;

/** Makes a limiter of `perMinute` requests for one key. */
export type Limiter = (table: SimulatedTable, perMinute: number) => Ask;

const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench' };
const region = 'eu-central-1';
const key = 'key';
const windowMs = 60_000;

export const limiters: Readonly<Record<string, Limiter>> = {
  'this service': thisService,
  'rate-limiter-flexible': rateLimiterFlexible,
  'token bucket': tokenBucket,
  'sliding window': slidingWindow,
};

function thisService(table: SimulatedTable, perMinute: number): Ask {
  const clock = new Clock();
  const settings = { region, credentials, requestHandler: table.handler, clock, throttlingRetries: 0 };
  const client = DynamoDBDocumentClient.from(assembledClient(settings), {
    unmarshallOptions: { wrapNumbers: true },
  });
  const limits = { perMinute, perDay: 1_000_000 };
  const caller = { keyHash: key, keyId: 'key_bench', plan: 'pro', limits, expiresAt: 0 } as const;
  const limit = rateLimiter({
    table: { client, tableName: 'limits' },
    clock,
    deprecated: false,
    timeout: 1_000,
  });
  const recorder = { count: () => {}, error: () => {} } as unknown as Recorder;
  return async () => {
    const { rejection } = await limit(caller, recorder);
    if (rejection === undefined) return { kind: 'admitted' };
    return { kind: 'rejected', retryAfter: Number(rejection.headers['Retry-After']) * 1_000 };
  };
}

/** What is used of https://github.com/animir/node-rate-limiter-flexible. Only the bench installs it. */
interface FlexibleLimiter {
  consume(of: string): Promise<unknown>;
}
type FlexibleLimiterClass = new (options: object) => FlexibleLimiter;

/** With what its documents recommend for DynamoDB: blocked keys in memory, and a limiter in memory for failures. */
function rateLimiterFlexible(table: SimulatedTable, perMinute: number): Ask {
  const { RateLimiterDynamo, RateLimiterMemory } = createRequire(import.meta.url)(
    'rate-limiter-flexible',
  ) as Record<'RateLimiterDynamo' | 'RateLimiterMemory', FlexibleLimiterClass>;
  const limit = { points: perMinute, duration: windowMs / 1_000 };
  const limiter = new RateLimiterDynamo({
    ...limit,
    storeClient: new DynamoDB({ region, credentials, requestHandler: table.handler }),
    tableName: 'limits',
    tableCreated: true,
    ttlSet: true,
    inMemoryBlockOnConsumed: perMinute,
    insuranceLimiter: new RateLimiterMemory(limit),
  });
  const rejection = z.object({ msBeforeNext: z.number() });
  return async () => {
    try {
      await limiter.consume(key);
      return { kind: 'admitted' };
    } catch (error) {
      if (error instanceof Error) throw error;
      return { kind: 'rejected', retryAfter: rejection.parse(error).msBeforeNext };
    }
  };
}

function documentClient(table: SimulatedTable): DynamoDBDocumentClient {
  const client: DynamoDBClient = new DynamoDB({ region, credentials, requestHandler: table.handler });
  return DynamoDBDocumentClient.from(client);
}

const bucketItem = z.object({ tokens: z.number(), refilledAt: z.number() });

/**
 * A bucket of `perMinute` tokens that is refilled as it is used. A token is taken by one conditional write; only if there is
 * none the bucket is read, refilled and written under a lock on the time of the last refill.
 *
 * After the algorithm of https://github.com/zeroae/zae-limiter (June 2026), for one limit and without its shards.
 */
function tokenBucket(table: SimulatedTable, perMinute: number): Ask {
  const client = documentClient(table);
  // In thousandths of a token, so that the refill has no fractions.
  const [capacity, token] = [perMinute * 1_000, 1_000];
  const refillMs = (tokens: number) => (tokens * windowMs) / capacity;
  const item = { TableName: 'limits', Key: { key } };
  const take = new UpdateCommand({
    ...item,
    UpdateExpression: 'ADD tokens :taken',
    ConditionExpression: 'tokens >= :token',
    ExpressionAttributeValues: { ':taken': -token, ':token': token },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  });
  const refilled = ({ tokens, refilledAt }: z.infer<typeof bucketItem>, now: number) => {
    const added = Math.max(0, Math.floor(((now - refilledAt) * capacity) / windowMs));
    return {
      tokens: Math.min(capacity, tokens + added),
      refilledAt: refilledAt + Math.floor(refillMs(added)),
    };
  };
  const rejected = (tokens: number): Outcome => ({
    kind: 'rejected',
    retryAfter: Math.ceil(refillMs(token - tokens)),
  });
  /** @returns the item that a condition failed on, as the SDK has it in the error */
  const attempt = async (write: UpdateCommand | PutCommand): Promise<'done' | { readonly item?: object }> => {
    try {
      await (write instanceof PutCommand ? client.send(write) : client.send(write));
      return 'done';
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      return error.Item === undefined ? {} : { item: unmarshall(error.Item) };
    }
  };
  return async () => {
    const first = await attempt(take);
    if (first === 'done') return { kind: 'admitted' };
    const now = Date.now();
    let write: UpdateCommand | PutCommand;
    if (first.item === undefined) {
      write = new PutCommand({
        TableName: 'limits',
        Item: { key, tokens: capacity - token, refilledAt: now },
        ConditionExpression: 'attribute_not_exists(tokens)',
      });
    } else {
      const seen = refilled(bucketItem.parse(first.item), now);
      if (seen.tokens < token) return rejected(seen.tokens);
      const { Item: read } = await client.send(new GetCommand({ ...item, ConsistentRead: true }));
      const bucket = bucketItem.parse(read);
      const next = refilled(bucket, now);
      if (next.tokens < token) return rejected(next.tokens);
      write = new UpdateCommand({
        ...item,
        UpdateExpression: 'SET refilledAt = :now ADD tokens :change',
        ConditionExpression: 'refilledAt = :expected AND tokens >= :floor',
        ExpressionAttributeValues: {
          ':now': next.refilledAt,
          ':change': next.tokens - token - bucket.tokens,
          ':expected': bucket.refilledAt,
          ':floor': Math.max(0, bucket.tokens + token - next.tokens),
        },
      });
    }
    if ((await attempt(write)) === 'done') return { kind: 'admitted' };
    // Another one has refilled the bucket.
    return (await attempt(take)) === 'done' ? { kind: 'admitted' } : rejected(0);
  };
}

/**
 * A counter for each window. Every request, also a rejected one, is counted in the current window, and weighed together with
 * the part of the previous one that is not over.
 *
 * After the algorithm of https://github.com/mennanov/limiters (June 2026).
 */
function slidingWindow(table: SimulatedTable, perMinute: number): Ask {
  const client = documentClient(table);
  const epsilon = 1e-9;
  const atMost = (count: number) => Math.min(count, Math.ceil(perMinute + epsilon));
  const counter = z.object({ count: z.number() });
  const itemOf = (window: number) => ({ TableName: 'limits', Key: { key: `${key} ${window}` } });
  return async () => {
    const now = Date.now();
    const window = now - (now % windowMs);
    const left = windowMs - (now - window);
    const [{ Attributes: current }, { Item: previous }] = await Promise.all([
      client.send(
        new UpdateCommand({
          ...itemOf(window),
          UpdateExpression: 'SET expiresAt = :expiresAt ADD #count :one',
          ExpressionAttributeNames: { '#count': 'count' },
          ExpressionAttributeValues: {
            ':one': 1,
            ':expiresAt': Math.floor((now + left + windowMs) / 1_000),
          },
          ReturnValues: 'ALL_NEW',
        }),
      ),
      client.send(new GetCommand({ ...itemOf(window - windowMs), ConsistentRead: true })),
    ]);
    const currentCount = atMost(counter.parse(current).count);
    const previousCount = previous === undefined ? 0 : atMost(counter.parse(previous).count);
    const total = (previousCount * left) / windowMs + currentCount;
    if (total - perMinute < epsilon) return { kind: 'admitted' };
    const retryAfter =
      currentCount <= perMinute - 1 && previousCount > 0
        ? left - ((perMinute - 1 - currentCount) / previousCount) * windowMs
        : left + (1 - (perMinute - 1) / currentCount) * windowMs;
    return { kind: 'rejected', retryAfter };
  };
}
