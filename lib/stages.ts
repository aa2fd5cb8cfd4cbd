import { RemovalPolicy } from 'aws-cdk-lib';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { z } from 'zod';

/** The functions of the service: `functions/<entry>.ts` each. */
export const functionEntries = [
  'list-pets',
  'create-pet',
  'get-pet',
  'unmatched-route',
  'authorizer',
] as const;
export type FunctionEntry = (typeof functionEntries)[number];

/** The stages there are. The name of a stage is also part of every API key of it. */
export const stageNames = ['local', 'staging', 'prod'] as const;
export type StageName = (typeof stageNames)[number];

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
const stageSettings = z
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

/** The memory is what the figures in docs/performance.md recommend. */
const everyFunction = (settings: z.infer<typeof functionSettings>): StageSettings['functions'] => ({
  'list-pets': settings,
  'create-pet': settings,
  'get-pet': settings,
  'unmatched-route': settings,
  authorizer: settings,
});

const staging: StageSettings = {
  endpoint: 'regional',
  removalPolicy: RemovalPolicy.DESTROY,
  deletionProtection: false,
  pointInTimeRecovery: false,
  logRetentionDays: RetentionDays.TWO_WEEKS,
  logLevel: 'INFO',
  functions: everyFunction({ memory: 1024 }),
  limiterTimeout: 200,
  deployment: 'all-at-once',
  alarms: true,
  dashboards: true,
  // A flood of staging must not use up what prod in the same account needs.
  throttle: { requestsPerSecond: 500, burst: 1_000 },
};

const presets: Readonly<Record<StageName, StageSettings>> = {
  staging,
  prod: {
    ...staging,
    removalPolicy: RemovalPolicy.RETAIN,
    deletionProtection: true,
    pointInTimeRecovery: true,
    logRetentionDays: RetentionDays.THREE_MONTHS,
    deployment: 'canary',
    // The account's default, stated: https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html
    throttle: { requestsPerSecond: 10_000, burst: 5_000 },
  },
  // Served on a laptop, where there is nobody to alarm and DynamoDB Local takes its time.
  local: {
    ...staging,
    logRetentionDays: RetentionDays.ONE_DAY,
    limiterTimeout: 5_000,
    alarms: false,
    dashboards: false,
    throttle: undefined,
  },
};

/** A mistake in the configuration. Its message is one line for whoever made it. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

/** What to synthesize: the stacks `<name>-<stage>`. */
export interface Configuration {
  /** The first part of every stack's name: copies in one account and Region need names of their own. */
  readonly name: string;
  readonly stages: ReadonlyMap<StageName, StageSettings>;
  /** Whether the stack of what an account and Region has once is ours to deploy, see account-stack.ts. */
  readonly accountSettings: 'managed' | 'existing';
  /** The repository whose workflows deploy, see delivery-stack.ts. Left out: no roles for any. */
  readonly github: { readonly repository: string; readonly providerExists: boolean } | undefined;
}

const settingsByStage = z.preprocess(
  parseIfText,
  z.partialRecord(z.enum(stageNames), z.record(z.string(), z.unknown())),
);

const context = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'must be 1 to 64 letters, digits and hyphens, with a letter first')
    .default('AnimalStore'),
  stage: z.enum(stageNames, `must be one of ${stageNames.join(', ')}`).optional(),
  accountSettings: z.enum(['managed', 'existing'], 'must be "managed" or "existing"').default('managed'),
  github: z
    .string()
    // With ids where the repository's tokens bear them: those made since the summer of 2026 do.
    // https://github.blog/changelog/2026-04-23-immutable-subject-claims-for-github-actions-oidc-tokens
    .regex(/^[\w.-]+(@\d+)?\/[\w.-]+(@\d+)?$/, 'must be owner/repository')
    .optional(),
  githubProvider: z.enum(['managed', 'existing'], 'must be "managed" or "existing"').default('managed'),
  stages: settingsByStage.default({}),
  overrides: settingsByStage.default({}),
});

/**
 * CDK and its command line keep things of their own in the context: `@aws-cdk/…`, `aws:cdk:…`, `cli-telemetry`, what
 * was looked up in an account. None is a plain word, as ours all are; so a word that is none of ours is a mistake.
 */
const ownedByCdk = /\W/;

/**
 * Reads the configuration from CDK context:
 *
 * - `-c stage=prod`: that stage alone. Left out: staging and prod.
 * - `-c name=Shelter`: stacks named `Shelter-<stage>`. Left out: `AnimalStore`.
 * - `-c accountSettings=existing`: the account has a role for API Gateway's logs, and it stays as it is.
 * - `-c github=owner/repository`, or `owner@id/repository@id` where GitHub's tokens say so: also the roles for its
 *   workflows. `-c githubProvider=existing` where the account trusts GitHub's tokens already.
 * - `stages` in cdk.json: settings that differ from those above, such as
 *   `{"prod": {"domain": {"name": "api.example.com", "certificateArn": "arn:…"}}}`. `null` takes a setting away.
 * - `-c overrides=JSON`: the same, on top of those in cdk.json, for one deployment. With `-c stages=…` CDK would leave
 *   out all that the file says.
 *
 * @param all the whole context of the app, CDK's own keys included
 * @throws ConfigurationError naming every mistake, in one line
 */
export function readConfiguration(all: Readonly<Record<string, unknown>>): Configuration {
  const { name, stage, stages, overrides, accountSettings, github, githubProvider } = parse(
    context,
    'context',
    Object.fromEntries(Object.entries(all).filter(([key]) => !ownedByCdk.test(key))),
  );
  const wanted: readonly StageName[] = stage === undefined ? ['staging', 'prod'] : [stage];
  return {
    name,
    stages: new Map(
      wanted.map((each) => [
        each,
        parse(stageSettings, `stages.${each}`, merge(merge(presets[each], stages[each]), overrides[each])),
      ]),
    ),
    // A laptop has no account.
    accountSettings: stage === 'local' ? 'existing' : accountSettings,
    github:
      github === undefined
        ? undefined
        : { repository: github, providerExists: githubProvider === 'existing' },
  };
}

function parse<T extends z.ZodType>(schema: T, path: string, value: unknown): z.infer<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const faults = result.error.issues.map((issue) => `${[path, ...issue.path].join('.')}: ${issue.message}`);
  throw new ConfigurationError(faults.join('; '));
}

/** What `-c` gives is text. */
function parseIfText(value: unknown, check: z.RefinementCtx): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch (error) {
    // On one line, although what it quotes may have several.
    const fault = String(error instanceof Error ? error.message : error).replaceAll(/\s+/g, ' ');
    check.addIssue(`is no JSON: ${fault}`);
    return z.NEVER;
  }
}

/** Objects are merged key by key, everything else is replaced, `null` removes. */
function merge(base: unknown, changes: unknown): unknown {
  if (changes === undefined) return base;
  if (changes === null) return undefined;
  if (!isObject(changes)) return changes;
  const merged: Record<string, unknown> = isObject(base) ? { ...base } : {};
  for (const [key, value] of Object.entries(changes)) merged[key] = merge(merged[key], value);
  return merged;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
