import { RemovalPolicy } from 'aws-cdk-lib';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { StageSettings } from './settings.ts';

/** The stages. The name of a stage is also part of each of its API keys. */
export const stageNames = ['local', 'staging', 'prod'] as const;
export type StageName = (typeof stageNames)[number];

const staging: StageSettings = {
  removalPolicy: RemovalPolicy.DESTROY,
  deletionProtection: false,
  pointInTimeRecovery: false,
  logRetentionDays: RetentionDays.TWO_WEEKS,
  logLevel: 'INFO',
  memory: 1769,
  functions: {},
  minify: true,
  deployment: 'all-at-once',
  canary: { percent: 10, minutes: 5 },
  alarms: true,
  dashboards: true,
  // This is the quota of an account, and a new one can have less.
  accountConcurrency: 1_000,
  // This is the quota of an account in a large Region. About thirteen other Regions have 2,500 and 1,250.
  accountThrottle: { requestsPerSecond: 10_000, burst: 5_000 },
  // A flood of staging must leave prod most of the account's request rate, if they share an account.
  throttle: { requestsPerSecond: 500, burst: 1_000 },
  gatewayResponseHeaders: 'caller',
};

/** The settings of each stage, before those of cdk.json. */
export const presets: Readonly<Record<StageName, StageSettings>> = {
  staging,
  prod: {
    ...staging,
    // If the deployment that creates them fails, they go, because the next one could not create them again.
    removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    deletionProtection: true,
    pointInTimeRecovery: true,
    logRetentionDays: RetentionDays.THREE_MONTHS,
    deployment: 'canary',
    // API Gateway then gives the stage 10,000 requests per second and bursts of 5,000, whatever the account has. A throttle
    // above the account's, as in a Region with a lower quota, would fail the deployment.
    throttle: undefined,
  },
  // `npm start` serves this stage.
  local: {
    ...staging,
    logRetentionDays: RetentionDays.ONE_DAY,
    minify: false,
    alarms: false,
    dashboards: false,
    throttle: undefined,
  },
};
