import { RemovalPolicy } from 'aws-cdk-lib';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { FunctionSettings, StageSettings } from './settings.ts';

/** The stages there are. The name of a stage is also part of every API key of it. */
export const stageNames = ['local', 'staging', 'prod'] as const;
export type StageName = (typeof stageNames)[number];

/** The memory is what the figures in docs/performance.md recommend. */
const everyFunction = (settings: FunctionSettings): StageSettings['functions'] => ({
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

export const presets: Readonly<Record<StageName, StageSettings>> = {
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
