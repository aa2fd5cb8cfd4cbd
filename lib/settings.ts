import { RemovalPolicy } from 'aws-cdk-lib';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { z } from 'zod';
import { functionEntries } from './compute/entries.ts';

const functionSettings = z
  .strictObject({
    /** MiB. The share of a CPU grows with it. */
    memory: z.int().min(128).max(10_240),
    /** Executions at once, at most: taken out of the account's pool. Left out: as many as the pool allows. */
    reservedConcurrency: z.int().min(1).optional(),
    /**
     * Environments that are kept warm on the live alias, paid by the hour. Left out: none. While a new version takes
     * over, the old one and the new one share them, and what finds none warm needs room beside them.
     */
    provisionedConcurrency: z.int().min(1).optional(),
  })
  .refine(
    ({ reservedConcurrency, provisionedConcurrency }) =>
      reservedConcurrency === undefined ||
      provisionedConcurrency === undefined ||
      provisionedConcurrency <= reservedConcurrency,
    { path: ['provisionedConcurrency'], error: 'cannot exceed reservedConcurrency' },
  );

/** Everything that differs between stages, and between copies of a stage. */
export const stageSettings = z
  .strictObject({
    /** Where the API's endpoint is: in the stack's Region, or at the edge locations of CloudFront. */
    endpoint: z.enum(['regional', 'edge']),
    /** What becomes of tables and logs when they leave the stack, or the stack goes. */
    removalPolicy: z.enum([RemovalPolicy.RETAIN, RemovalPolicy.DESTROY]),
    /** Whether DynamoDB refuses to delete the tables. */
    deletionProtection: z.boolean(),
    /** Whether the tables that cannot be rebuilt can be restored to any second of the last 35 days. */
    pointInTimeRecovery: z.boolean(),
    /** One of the retentions that CloudWatch Logs offers. */
    logRetentionDays: z.enum(RetentionDays),
    logLevel: z.enum(['DEBUG', 'INFO', 'WARN', 'ERROR']),
    functions: z.record(z.enum(functionEntries), functionSettings),
    /** How long the limiter's table may take before requests go through uncounted, in milliseconds. */
    limiterTimeout: z.int().min(1),
    /** How a new version of the functions takes over: a tenth of the requests for five minutes first, or at once. */
    deployment: z.enum(['canary', 'all-at-once']),
    alarms: z.boolean(),
    dashboards: z.boolean(),
    /** Where alarms are sent to; the address has to confirm its subscription. */
    notificationAddress: z.email('is no e-mail address').optional(),
    /** The stage's share of the account's request rate, over all keys. Left out: all of it. */
    throttle: z
      .strictObject({ requestsPerSecond: z.number().positive(), burst: z.int().positive() })
      .optional(),
    /** The stage's own address: `https://<name>/v1`. */
    domain: z
      .strictObject({
        name: z.hostname('is no host name'),
        /** ARN of a certificate for the name, in ACM. */
        certificateArn: z
          .string('is missing: a domain needs a certificate')
          .regex(/^arn:[a-z-]+:acm:[a-z0-9-]+:\d{12}:certificate\/.+$/, 'is no ARN of a certificate in ACM'),
        /** The zone in Route 53 that gets the name's records. Left out: they are made elsewhere. */
        hostedZone: z.strictObject({ id: z.string(), name: z.hostname('is no host name') }).optional(),
      })
      .optional(),
    /** A web ACL in front of the API that stops addresses from flooding it. Left out: none, and no cost. */
    waf: z
      .strictObject({
        /** Requests from one address within five minutes, with or without a key. */
        requestsPerAddress: z.int().min(10).max(2_000_000_000),
      })
      .optional(),
  })
  .refine(({ waf, endpoint }) => waf === undefined || endpoint === 'regional', {
    path: ['waf'],
    error:
      'needs endpoint "regional": its rule counts the address that connects, which at an edge endpoint is CloudFront',
  })
  .refine(
    ({ domain, endpoint }) =>
      domain === undefined || endpoint === 'regional' || domain.certificateArn.split(':')[3] === 'us-east-1',
    { path: ['domain', 'certificateArn'], error: 'must be in us-east-1 for an edge endpoint' },
  )
  .refine(({ deployment, alarms }) => deployment !== 'canary' || alarms, {
    path: ['alarms'],
    error: 'must be on for a canary: they are what rolls it back',
  })
  .superRefine(({ deployment, functions }, check) => {
    if (deployment !== 'canary') return;
    for (const [entry, { provisionedConcurrency = 0, reservedConcurrency = Infinity }] of Object.entries(
      functions,
    )) {
      if (provisionedConcurrency !== reservedConcurrency) continue;
      // Lambda spreads requests over the two versions by chance, so that one of them runs out of warm environments:
      // https://docs.aws.amazon.com/lambda/latest/dg/configuring-alias-routing.html
      check.addIssue({
        code: 'custom',
        path: ['functions', entry, 'provisionedConcurrency'],
        message: 'must be less than reservedConcurrency for a canary: two versions share them meanwhile',
      });
    }
  })
  .refine(({ notificationAddress, alarms }) => notificationAddress === undefined || alarms, {
    path: ['notificationAddress'],
    error: 'needs alarms to be sent',
  });
export type StageSettings = z.infer<typeof stageSettings>;
export type FunctionSettings = z.infer<typeof functionSettings>;
