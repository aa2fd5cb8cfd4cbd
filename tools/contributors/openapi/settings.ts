import { readConfiguration } from '../../../lib/configuration/context.ts';
import type { StageSettings } from '../../../lib/configuration/settings.ts';
import { presets } from '../../../lib/configuration/stages.ts';

// What docs/settings.md says of the settings of a stage. Each sample is one that the CDK app accepts.

interface Row {
  readonly to: string;
  readonly sample: unknown;
  /** What else to know. */
  readonly note?: string;
  /** Without the setting. */
  readonly otherwise?: string;
}

/** In the order of the page. */
const rows: { readonly [Name in keyof StageSettings]-?: readonly Row[] } = {
  // What most stages set.
  account: [{ to: 'refuse every other account', sample: '222222222222', otherwise: 'from the credentials' }],
  region: [{ to: 'refuse every other Region', sample: 'eu-central-1', otherwise: 'from the credentials' }],
  notificationAddress: [
    {
      to: 'get alarms by e-mail',
      sample: 'on-call@example.com',
      note: 'For several people, use the address of a list.',
    },
    {
      to: 'get alarms in another way',
      sample: 'elsewhere',
      note: 'Subscribe to the output `AlarmTopicArn`.',
    },
  ],
  monthlyBudget: [
    {
      to: 'get an e-mail before the account has cost this many US dollars in a month',
      sample: 500,
      note: 'It needs an e-mail address in `notificationAddress`.',
    },
  ],
  minimumRequests: [{ to: 'get an alarm when fewer requests than this come in 15 minutes', sample: 100 }],
  logRetentionDays: [{ to: 'keep logs for this many days', sample: 365 }],
  // Deployments and data.
  deployment: [
    {
      to: 'deploy to all clients at once, without a canary and even while an alarm is on',
      sample: 'all-at-once',
    },
  ],
  canary: [{ to: 'change the canary', sample: { percent: 5, minutes: 15 } }],
  pointInTimeRecovery: [{ to: 'be able to [restore data](runbook.md#restore-data)', sample: true }],
  // Load.
  functions: [
    { to: 'avoid cold starts', sample: { 'list-pets': { provisionedConcurrency: 2 } } },
    { to: 'give a function more memory', sample: { 'list-pets': { memory: 3008 } } },
    {
      to: 'reserve concurrent executions for a function, and permit no more',
      sample: { 'list-pets': { reservedConcurrency: 100 } },
    },
  ],
  throttle: [
    {
      to: 'limit the requests of all keys together',
      sample: { requestsPerSecond: 5_000, burst: 2_500 },
    },
  ],
  waf: [
    {
      to: 'limit the requests from one address in five minutes ([which value](runbook.md#flood))',
      sample: { requestsPerAddress: 10_000 },
    },
  ],
  warmThroughput: [
    {
      to: 'prepare a table for a launch',
      sample: { pets: { readUnitsPerSecond: 20_000, writeUnitsPerSecond: 6_000 } },
      note: 'AWS charges it once, and it cannot be lowered.',
    },
  ],
  // Single problems.
  logLevel: [{ to: 'write more to the logs', sample: 'DEBUG' }],
  gatewayResponseHeaders: [
    {
      to: 'deploy although API Gateway refuses `context.authorizer` (`Invalid mapping expression specified`)',
      sample: 'request-id',
      note: 'Its own responses then show 0 as the limit of a key.',
    },
    {
      to: 'deploy although API Gateway refuses `context.requestId`, too',
      sample: 'static',
      note: 'Its own responses then have no `X-Request-Id` either.',
    },
  ],
  // The quotas of the account. A deployment says when they are needed, and the value.
  accountThrottle: [
    {
      to: 'state what API Gateway permits the account, if it is not the default. To let the stage use more than the default, raise `throttle`, too.',
      sample: { requestsPerSecond: 20_000, burst: 10_000 },
    },
  ],
  accountConcurrency: [
    {
      to: 'state how many concurrent executions Lambda permits the account, if it is not the default',
      sample: 3_000,
    },
  ],
  // Sections of the page.
  domain: [],
  permissionsBoundary: [],
  // Hardly ever set: settings.ts says what they are for.
  deletionProtection: [],
  memory: [],
  removalPolicy: [],
  alarms: [],
  dashboards: [],
  minify: [],
};

/** In one line, as cdk.json has it. */
function json(value: unknown): string {
  return JSON.stringify(value, null, 1).replaceAll(/\n\s*/g, ' ');
}

/** @throws ConfigurationError if the CDK app refuses the sample */
function checkedSample(name: string, sample: unknown): string {
  const needed = { notificationAddress: 'you@example.com' };
  readConfiguration({ stages: { prod: { ...needed, [name]: sample } } });
  return `\`${json(name)}: ${json(sample)}\``;
}

function defaultOf(name: keyof StageSettings): string {
  const inWords = (value: unknown): string =>
    value === undefined || json(value) === '{}' ? 'none' : `\`${json(value)}\``;
  const [staging, prod] = [inWords(presets.staging[name]), inWords(presets.prod[name])];
  return staging === prod ? staging : `${staging}, in prod ${prod}`;
}

export const settings = {
  head: ['To', 'Set', 'Default'],
  rows: Object.entries(rows).flatMap(([name, ofName]) =>
    ofName.map(({ to, sample, note, otherwise }) => [
      `${to}${note === undefined ? '' : `. ${note}`}`,
      checkedSample(name, sample),
      otherwise ?? defaultOf(name as keyof StageSettings),
    ]),
  ),
};
