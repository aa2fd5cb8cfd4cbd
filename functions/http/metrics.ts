/**
 * Names of the metrics that the functions count, in the namespace given by METRICS_NAMESPACE. Each is
 * published once with the dimension `Plan` and once without a dimension, so that an alarm needs no sum.
 */
export const metrics = {
  /** Requests that the limiter let through. */
  admitted: 'RequestsAdmitted',
  /** Requests answered 429 because a window was full. */
  rejected: 'RequestsRejected',
  /** Requests answered 429 because the key is suspended. */
  suspended: 'RequestsSuspended',
  /** Requests let through uncounted, because the RateLimits table could not be reached in time. */
  failOpen: 'LimiterFailOpen',
  /** Calls to a deprecated operation. */
  deprecated: 'DeprecatedCalls',
  /** New ids that were already taken and drawn again. */
  collision: 'CreationCollisions',
  /** Animals created. */
  created: 'AnimalsCreated',
  /** Creations answered from the record of their Idempotency-Key. */
  replayed: 'CreationsReplayed',
  /** Stored items that could not be read and were left out of an answer. */
  damaged: 'DamagedItems',
} as const;

export type Metric = (typeof metrics)[keyof typeof metrics];

/** The dimension that splits a metric by plan. */
export const planDimension = 'Plan';
