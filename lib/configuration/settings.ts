import { RemovalPolicy } from 'aws-cdk-lib';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { z } from 'zod';
import { fixedPlans } from '../../functions/access/plans.ts';
import { type FunctionEntry, functionEntries } from '../../functions/operations.ts';
import { tableNames } from '../../functions/tables.ts';

/** MiB. CPU grows in proportion. bench/README.md explains the choice. */
const memorySize = z.int().min(128).max(10_240);

const functionSettings = z.strictObject({
  /** Default: the stage's. */
  memory: memorySize.optional(),
  /** Concurrent executions reserved from the account's pool, and at most. Default: no reservation, no limit. */
  reservedConcurrency: z.int().min(1).optional(),
  /** Warm execution environments on the live alias, billed by the hour. Both versions of a canary share them. */
  provisionedConcurrency: z.int().min(1).optional(),
});

/** A token bucket of API Gateway: tokens added per second, and its size. */
const throttle = z.strictObject({ requestsPerSecond: z.number().positive(), burst: z.int().positive() });

/** DynamoDB accepts no less than what every table on demand starts with. */
const warmThroughput = z.strictObject({
  readUnitsPerSecond: z.int().min(12_000),
  writeUnitsPerSecond: z.int().min(4_000),
});

const certificateArn = /^arn:[a-z-]+:acm:[a-z0-9-]+:\d{12}:certificate\/.+$/;
const hostname = z.hostname('must be a valid host name');

/** Five minutes of the largest fixed plan: a customer may send them from one address. */
const fewestRequestsPerAddress = 5 * Math.max(...Object.values(fixedPlans).map(({ perMinute }) => perMinute));

/** Everything that can differ between stages, and between copies of a stage. */
export const stageSettings = z
  .strictObject({
    /** The account that the stage belongs to. Other credentials are refused. Default: that of the credentials. */
    account: z
      .string()
      .regex(/^\d{12}$/, 'must be the 12 digits of an account')
      .optional(),
    /** The Region of the stage. Default: that of the credentials. */
    region: z
      .string()
      .regex(/^[a-z]{2,}(-[a-z]+)+-\d+$/, 'must be a Region, such as "eu-central-1"')
      .optional(),
    /** What happens to tables and logs that are removed from the stack, or whose stack is deleted. */
    removalPolicy: z.enum([RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE, RemovalPolicy.DESTROY]),
    /** Whether DynamoDB refuses to delete the tables, and CloudFormation the stack. Off for the deployment that creates it. */
    deletionProtection: z.boolean(),
    /**
     * What a table can serve at once, before a launch; for Pets its indexes too. It cannot be lowered again, and costs once.
     * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
     */
    warmThroughput: z.partialRecord(z.enum(tableNames), warmThroughput).optional(),
    /** Whether Pets and ApiKeys can be restored to any second of the last 35 days. */
    pointInTimeRecovery: z.boolean(),
    /** Days; one of the retention periods of CloudWatch Logs. */
    logRetentionDays: z.enum(RetentionDays),
    /** https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html */
    logLevel: z.enum(
      ['DEBUG', 'INFO'],
      'must be "DEBUG" or "INFO": Lambda drops lines below the level, and metrics are lines of level INFO',
    ),
    memory: memorySize,
    functions: z.partialRecord(z.enum(functionEntries), functionSettings),
    /** Minify the functions' code. Use false for a debugger. */
    minify: z.boolean(),
    /**
     * How requests move to a new version of a function after its checks: a share of them first, while alarms can roll it back, or
     * all at once, whatever the alarms say.
     */
    deployment: z.enum(['canary', 'all-at-once']),
    /** The share of the requests, and how long it lasts. The alarms need five minutes; a delivery waits for at most 30. */
    canary: z.strictObject({ percent: z.int().min(1).max(99), minutes: z.int().min(5).max(30) }),
    alarms: z.boolean(),
    dashboards: z.boolean(),
    /** Receives the alarms by e-mail, after a confirmation. "elsewhere": somebody subscribes to the topic of the alarms. */
    notificationAddress: z
      .union([z.literal('elsewhere'), z.email('must be a valid e-mail address, or "elsewhere"')])
      .optional(),
    /** An alarm reports 15 minutes with fewer requests. Set it to what the quietest hours have. Default: no such alarm. */
    minimumRequests: z.int().positive().optional(),
    /** US dollars a month, for the whole account. `notificationAddress` gets an e-mail before they are spent. Default: no budget. */
    monthlyBudget: z.number().positive().optional(),
    /** The account's quota of concurrent executions of Lambda in this Region. An alarm goes off at 80 % of it. */
    accountConcurrency: z.int().positive(),
    /** The account's throttle in this Region. https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html */
    accountThrottle: throttle,
    /**
     * The stage's share of the account's request rate, over all keys. Default: 10,000 and 5,000, as API Gateway sets for a
     * stage with method settings. Set it when the account's quota was raised, after `accountThrottle`.
     */
    throttle: throttle.optional(),
    /**
     * What API Gateway's own responses show of the request: its ID and the caller's limits (`caller`). `request-id` and `static`
     * (nothing) are for a deployment in which API Gateway refuses a mapping. See gateway-responses.ts.
     */
    gatewayResponseHeaders: z.enum(['static', 'request-id', 'caller']),
    /**
     * A managed policy, by its name, with its path if it has one. No role of the stage exceeds it, nor of the stacks that its account
     * and Region has once: docs/settings.md#limit-what-cloudformation-may-do.
     */
    permissionsBoundary: z
      .string()
      .regex(
        /^([!-.0-~]+\/)*[\w+=,.@-]{1,128}$/,
        'must be the name of a managed policy, such as "AnimalStore-Boundary", or "team/AnimalStore-Boundary" with a path',
      )
      .optional(),
    /** The stage's own address: `https://<name>/v1`. */
    domain: z
      .strictObject({
        name: hostname,
        /** ARN of a certificate for the name, in ACM. */
        certificateArn: z
          .string('is required: a domain needs a certificate')
          .regex(certificateArn, 'must be the ARN of a certificate in ACM'),
        /** The Route 53 zone in which the name's records are created. Default: they are created elsewhere. */
        hostedZone: z.strictObject({ id: z.string(), name: hostname }).optional(),
        /** Whether the address of API Gateway answers 403, once every client uses the domain. */
        disableExecuteApiEndpoint: z.boolean().optional(),
      })
      .optional(),
    /** A web ACL that limits the requests from one address within five minutes. Default: none, at no cost. */
    waf: z
      .strictObject({
        requestsPerAddress: z
          .int()
          .min(
            fewestRequestsPerAddress,
            `must be at least ${fewestRequestsPerAddress}: what the largest plan permits in five minutes. With larger keys, or several ` +
              'customers behind one address, set it higher',
          )
          .max(2_000_000_000),
      })
      .optional(),
  })
  .superRefine((settings, check) => {
    const { accountThrottle, alarms, functions, throttle: stage } = settings;
    const canary = settings.deployment === 'canary';
    const must = (holds: boolean, path: string, message: string): void => {
      if (!holds) check.addIssue({ code: 'custom', path: path.split('.'), message });
    };

    must(alarms || !canary, 'alarms', 'must be true for deployment "canary": alarms roll the canary back');
    const silent = settings.notificationAddress === undefined;
    must(alarms || silent, 'notificationAddress', 'requires alarms to be true');
    const unlimited = settings.monthlyBudget === undefined;
    must(
      unlimited || settings.notificationAddress?.includes('@') === true,
      'monthlyBudget',
      'requires an e-mail address in notificationAddress',
    );
    const anyTraffic = settings.minimumRequests === undefined;
    must(alarms || anyTraffic, 'minimumRequests', 'requires alarms to be true');
    for (const [entry, concurrency] of Object.entries(functions)) {
      const { provisionedConcurrency: warm = 0, reservedConcurrency = Infinity } = concurrency;
      const path = `functions.${entry}.provisionedConcurrency`;
      must(warm <= reservedConcurrency, path, 'must not exceed reservedConcurrency');
      // Lambda distributes requests over the two versions at random, so one of them can run out of warm environments:
      // https://docs.aws.amazon.com/lambda/latest/dg/configuring-alias-routing.html
      const shared = 'must be less than reservedConcurrency for deployment "canary": two versions share them';
      must(!canary || warm !== reservedConcurrency, path, shared);
    }
    for (const part of ['requestsPerSecond', 'burst'] as const) {
      const tooMuch = `must not exceed accountThrottle.${part} (${accountThrottle[part]})`;
      must((stage?.[part] ?? 0) <= accountThrottle[part], `throttle.${part}`, tooMuch);
    }
  });
export type StageSettings = z.infer<typeof stageSettings>;
export type Throttle = z.infer<typeof throttle>;

/** MiB. */
export function memoryOf({ memory, functions }: StageSettings, entry: FunctionEntry): number {
  return functions[entry]?.memory ?? memory;
}
