import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { fixedPlans } from '../../../functions/access/plans.ts';
import { ConfigurationError, readConfiguration, withOverrides } from '../../../lib/configuration/context.ts';
import type { StageSettings } from '../../../lib/configuration/settings.ts';
import { cdkFlags } from './synthesis.ts';

const read = readConfiguration;
const largestPlan = Math.max(...Object.values(fixedPlans).map(({ perMinute }) => perMinute));
const prodWith = (settings: unknown): StageSettings | undefined =>
  read({ stage: 'prod', stages: { prod: settings } }).stages.get('prod');

describe('the configuration', () => {
  it('is staging and prod of AnimalStore by default', () => {
    const { name, stages, accountSettings, github } = read({});
    expect({ name, stages: [...stages.keys()], accountSettings, github }).toEqual({
      name: 'AnimalStore',
      stages: ['staging', 'prod'],
      accountSettings: 'existing',
      github: undefined,
    });
  });

  it('can be one stage', () => {
    expect([...read({ stage: 'staging' }).stages.keys()]).toEqual(['staging']);
  });

  it('can leave a stage out', () => {
    expect([...read({ stages: { staging: null } }).stages.keys()]).toEqual(['prod']);
    expect(() => read({ stage: 'prod', stages: { prod: null } })).toThrow('context.stages: prod must not be');
  });

  it('merges the settings of a stage, given as an object or as text', () => {
    const changes = { accountThrottle: { burst: 1_250 }, logRetentionDays: 30 };
    for (const stages of [{ prod: changes }, JSON.stringify({ prod: changes })]) {
      const changed = read({ stages }).stages;
      const { stages: unchanged } = read({});
      expect(changed.get('prod')).toEqual({
        ...unchanged.get('prod'),
        logRetentionDays: 30,
        accountThrottle: { ...unchanged.get('prod')?.accountThrottle, burst: 1_250 },
      });
      expect(changed.get('staging')).toEqual(unchanged.get('staging'));
    }
  });

  describe('with overrides', () => {
    const domain = {
      name: 'api.example.com',
      certificateArn: 'arn:aws:acm:eu-west-1:123456789012:certificate/1',
    };
    const file = {
      prod: { domain, waf: { requestsPerAddress: 10_000 }, notificationAddress: 'a@example.com' },
      staging: { logLevel: 'DEBUG' },
    };

    it('keeps all other settings of the file', () => {
      const overrides = '{"prod":{"deployment":"all-at-once"}}';
      const { stages: without } = read({ stages: file });
      const { stages: overridden } = read({ stages: file, overrides });
      expect(overridden.get('prod')).toEqual({ ...without.get('prod'), deployment: 'all-at-once' });
      expect(overridden.get('prod')).toMatchObject(file.prod);
      expect(overridden.get('staging')).toEqual(without.get('staging'));
    });

    it('replaces and removes settings of the file', () => {
      const { stages } = read({
        stages: file,
        overrides: { prod: { waf: null, domain: { name: 'b.example' } } },
      });
      expect(stages.get('prod')?.waf).toBeUndefined();
      expect(stages.get('prod')?.domain).toEqual({ ...domain, name: 'b.example' });
    });

    it('can be extended for one deployment, and keeps those that there are', () => {
      const given = { prod: { waf: null, logLevel: 'DEBUG' }, staging: { alarms: false } };
      for (const overrides of [given, JSON.stringify(given)]) {
        const extended = withOverrides({ stages: file, overrides }, 'prod', { deletionProtection: false });
        expect(JSON.parse(extended)).toEqual({
          ...given,
          prod: { ...given.prod, deletionProtection: false },
        });
      }
    });

    it('validates the merged settings', () => {
      expect(() => read({ stages: file, overrides: { prod: { alarms: false } } })).toThrow(
        'stages.prod.alarms: must be true for deployment "canary"',
      );
    });
  });

  it('of a roll back leaves out what this version does not know, and says so', () => {
    const settings = {
      memory: 512,
      later: 1,
      functions: { 'list-pets': { memory: 1024 }, 'later-operation': {} },
    };
    const given = { stage: 'prod', stages: { prod: settings }, laterKey: true };
    expect(() => read(given)).toThrow('"laterKey" is not known here');
    const said = vi.spyOn(console, 'error').mockReturnValue();
    onTestFinished(() => said.mockRestore());
    const found = read({ ...given, 'animal-store:unknown-settings': 'left-out' }).stages.get('prod')!;
    expect(found).toEqual(prodWith({ memory: 512, functions: { 'list-pets': { memory: 1024 } } }));
    expect(said.mock.calls.map(([text]) => String(text))).toEqual([
      'warning: This version does not know context.laterKey, so it is left out.',
      'warning: This version does not know stages.prod.functions.later-operation, so it is left out.',
      'warning: This version does not know stages.prod.later, so it is left out.',
    ]);
    const invalid = {
      stage: 'prod',
      stages: { prod: { memory: -1 } },
      'animal-store:unknown-settings': 'left-out',
    };
    expect(() => read(invalid)).toThrow(ConfigurationError);
  });

  it("ignores the CDK's own context", () => {
    const fromCommandLine = {
      'aws:cdk:enable-path-metadata': true,
      'aws-cdk:enableDiffNoFail': true,
      'availability-zones:account=123456789012:region=eu-west-1': ['eu-west-1a'],
      'acknowledged-issue-numbers': [1],
    };
    expect(read({ ...cdkFlags(), ...fromCommandLine })).toEqual(read({}));
  });

  it.each(['owner/animal-store', 'owner@1/animal-store@23'])(
    'accepts a repository as named in GitHub tokens: %s',
    (github) => {
      expect(read({ github }).github).toEqual({ repository: github, providerExists: false });
    },
  );

  it.each([
    ['an unknown stage', { stage: 'qa' }, 'context.stage: must be one of local, staging, prod'],
    [
      'an invalid stack name',
      { name: '9 lives' },
      'context.name: must be 1 to 64 letters, digits and hyphens, with a letter first',
    ],
    ['a repository without owner', { github: 'animal-store' }, 'context.github: must be owner/repository'],
    ['a repository with a wildcard', { github: 'owner/*' }, 'context.github: must be owner/repository'],
    ['settings of an unknown stage', { stages: { qa: {} } }, 'context.stages: "qa" is not known here'],
    [
      'settings that are not valid JSON',
      { stages: '{"prod":\n off}' },
      /^context\.stages: must be valid JSON: Unexpected token .+ is not valid JSON\. Change it in cdk\.json .+$/,
    ],
    [
      'an unknown value of accountSettings',
      { accountSettings: 'exists' },
      'context.accountSettings: must be "managed" or "existing"',
    ],
    ['an unknown key', { stge: 'local' }, 'context: "stge" is not known here'],
  ])('rejects %s', (_, context, message) => {
    expect(() => read(context)).toThrow(ConfigurationError);
    expect(() => read(context)).toThrow(message);
  });

  const certificateArn = 'arn:aws:acm:eu-west-1:123456789012:certificate/1';

  it.each([
    ['an unknown key', { alarm: true }, 'stages.prod: "alarm" is not known here'],
    [
      'a domain without a certificate',
      { domain: { name: 'api.example.com' } },
      'stages.prod.domain.certificateArn: is required: a domain needs a certificate',
    ],
    [
      'a certificate that is not in ACM',
      {
        domain: { name: 'api.example.com', certificateArn: 'arn:aws:iam::123456789012:server-certificate/1' },
      },
      'stages.prod.domain.certificateArn: must be the ARN of a certificate in ACM',
    ],
    [
      'a domain that is a URL',
      { domain: { name: 'https://api.example.com/', certificateArn } },
      'stages.prod.domain.name: must be a valid host name',
    ],
    [
      'a canary without alarms',
      { alarms: false },
      'stages.prod.alarms: must be true for deployment "canary"',
    ],
    [
      'a notification address without alarms',
      { deployment: 'all-at-once', alarms: false, notificationAddress: 'a@example.com' },
      'stages.prod.notificationAddress: requires alarms to be true',
    ],
    [
      'an invalid notification address',
      { notificationAddress: 'on-call' },
      'stages.prod.notificationAddress: must be a valid e-mail address',
    ],
    [
      'a web ACL that would block a customer within the limits',
      { waf: { requestsPerAddress: 5 * largestPlan - 1 } },
      `stages.prod.waf.requestsPerAddress: must be at least ${5 * largestPlan}: what the largest plan permits in five minutes`,
    ],
    [
      'a budget that would tell nobody',
      { monthlyBudget: 10, notificationAddress: 'elsewhere' },
      'stages.prod.monthlyBudget: requires an e-mail address in notificationAddress',
    ],
    [
      'a canary that ends before an alarm can go off',
      { canary: { minutes: 4 } },
      'stages.prod.canary.minutes: Too small',
    ],
    ['an account with hyphens', { account: '1234-5678-9012' }, 'stages.prod.account: must be the 12 digits'],
    ['a Region that is a zone', { region: 'eu-west-1a' }, 'stages.prod.region: must be a Region'],
    [
      'a retention that CloudWatch does not support',
      { logRetentionDays: 2 },
      'stages.prod.logRetentionDays: Invalid option',
    ],
    [
      'more provisioned than reserved concurrency',
      { functions: { authorizer: { reservedConcurrency: 1, provisionedConcurrency: 2 } } },
      'stages.prod.functions.authorizer.provisionedConcurrency: must not exceed reservedConcurrency',
    ],
    [
      'a canary with as much provisioned as reserved concurrency',
      { functions: { authorizer: { reservedConcurrency: 5, provisionedConcurrency: 5 } } },
      'stages.prod.functions.authorizer.provisionedConcurrency: must be less than reservedConcurrency',
    ],
    [
      'a function that does not exist',
      { functions: { 'no-such-function': { memory: 128 } } },
      'stages.prod.functions: "no-such-function" is not known here. Known are ',
    ],
    [
      "a burst that exceeds the account's",
      { throttle: { requestsPerSecond: 1, burst: 5_001 } },
      'stages.prod.throttle.burst: must not exceed accountThrottle.burst (5000)',
    ],
    [
      "a rate that exceeds the account's",
      { accountThrottle: { requestsPerSecond: 2_500 }, throttle: { requestsPerSecond: 2_501, burst: 1 } },
      'stages.prod.throttle.requestsPerSecond: must not exceed accountThrottle.requestsPerSecond (2500)',
    ],
    [
      'a TLS policy of a domain, which would admit no further client',
      {
        domain: {
          name: 'api.example.com',
          certificateArn: 'arn:aws:acm:eu-west-1:123456789012:certificate/1',
          tlsPolicy: 'TLS_1_2',
        },
      },
      'stages.prod.domain: "tlsPolicy" is not known here. Known are name, certificateArn, hostedZone, disableExecuteApiEndpoint.',
    ],
    [
      'a log level that drops the metrics',
      { logLevel: 'WARN' },
      'stages.prod.logLevel: must be "DEBUG" or "INFO": Lambda drops lines below the level',
    ],
  ])('rejects %s', (_, settings, message) => {
    expect(() => prodWith(settings)).toThrow(ConfigurationError);
    expect(() => prodWith(settings)).toThrow(message);
  });

  it('accepts as much provisioned as reserved concurrency without a canary', () => {
    const concurrency = { reservedConcurrency: 5, provisionedConcurrency: 5 };
    const settings = { deployment: 'all-at-once', functions: { authorizer: concurrency } };
    expect(prodWith(settings)?.functions.authorizer).toMatchObject(concurrency);
  });

  it('lists every error in one line', () => {
    const mistakes = { alarm: true, deployment: 'linear', logLevel: 'LOUD' };
    expect(() => prodWith(mistakes)).toThrow(
      /^stages\.prod\.logLevel: [^\n;]+; stages\.prod\.deployment: [^\n;]+; stages\.prod: [^\n;]+$/,
    );
  });

  it('stops the app with that line and without a stack trace', async () => {
    vi.stubEnv('CDK_CONTEXT_JSON', JSON.stringify({ stage: 'prod', stages: { prod: { waff: {} } } }));
    const folder = mkdtempSync(join(tmpdir(), 'configuration-'));
    vi.stubEnv('CDK_OUTDIR', folder);
    // With an output directory the CDK synthesizes before the process exits, when the folder is gone.
    const once = vi.spyOn(process, 'once').mockReturnThis();
    const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never);
    const print = vi.spyOn(console, 'error').mockReturnValue();
    onTestFinished(() => {
      vi.unstubAllEnvs();
      vi.restoreAllMocks();
      rmSync(folder, { recursive: true });
    });
    await import('../../../bin/animal-store.ts');
    expect(print.mock.calls).toEqual([
      [
        expect.stringMatching(
          /^stages\.prod: "waff" is not known here\. Known are account, .+, waf\. Change it in cdk\.json under "context", or in -c\.$/,
        ),
      ],
    ]);
    expect(exit).toHaveBeenCalledExactlyOnceWith(1);
    expect(once).toHaveBeenCalledExactlyOnceWith('beforeExit', expect.anything());
  });
});
