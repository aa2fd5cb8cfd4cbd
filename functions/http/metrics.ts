/** Metrics that the functions count. Each is published with the dimension `Plan` and without, so that alarms need no sum. */
export const metrics = {
  /** Requests that the limiter admitted. */
  admitted: 'RequestsAdmitted',
  /** Requests answered 429 because a window was full. */
  rejected: 'RequestsRejected',
  /** Requests answered 429 because the key is suspended. */
  suspended: 'RequestsSuspended',
  /** Requests admitted without being counted, because the RateLimits table did not answer in time. */
  failOpen: 'LimiterFailOpen',
  /** Calls to a deprecated operation. */
  deprecated: 'DeprecatedCalls',
  /** New IDs that another pet already had. */
  collision: 'PetIdCollisions',
  created: 'PetsCreated',
  /** Creations answered from the record of their Idempotency-Key. */
  replayed: 'CreationsReplayed',
  /** Stored pets that failed validation and were left out of a listing. Counted for each listing, also if there are none. */
  malformed: 'MalformedItems',
} as const;

export type MetricName = (typeof metrics)[keyof typeof metrics];

/** The dimension that splits a metric by plan. */
export const planDimension = 'Plan';

/** Metrics that are also published by the version of the function, so that a canary is compared with the live version. */
export const metricsByVersion: readonly MetricName[] = [metrics.malformed];
export const versionDimension = 'Version';
