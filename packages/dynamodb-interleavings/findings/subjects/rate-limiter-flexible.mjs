import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { atMost, require, table, times, versionOf } from './support.mjs';

const limiter =
  (duration) =>
  async ({ client }) => {
    const { RateLimiterDynamo } = require('rate-limiter-flexible');
    const options = { tableName: 'Limits', tableCreated: true, ttlSet: true, points: 2, duration };
    const limits = new RateLimiterDynamo({ ...options, storeClient: new DynamoDB(client) });
    try {
      await limits.consume('key');
      return { admitted: true };
    } catch (error) {
      if (error instanceof Error) throw error;
      return { admitted: false };
    }
  };
const flexible = {
  library: 'rate-limiter-flexible, RateLimiterDynamo',
  version: versionOf('rate-limiter-flexible'),
  tables: [table('Limits', 'key')],
  promise: 'https://github.com/animir/node-rate-limiter-flexible#basic-options',
  check: atMost(2),
};

export const flexibleSubjects = [
  {
    ...flexible,
    property: 'Of three requests at the same time with 2 points in 60 s, two are admitted.',
    requests: times(3, limiter(60)),
  },
  {
    ...flexible,
    property:
      'Of three requests with 2 points in 60 s, two are admitted, although an answer of DynamoDB is lost.',
    requests: times(3, limiter(60)),
    faults: 1,
    kinds: ['lostAfter', 'lostBefore'],
  },
  {
    ...flexible,
    property: 'Of three requests with 2 points and `duration: 0` (points are never reset), two are admitted.',
    requests: times(3, limiter(0)),
  },
];
