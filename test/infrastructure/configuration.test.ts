import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { ConfigurationError, readConfiguration } from '../../lib/context.ts';
import type { StageSettings } from '../../lib/settings.ts';

const read = readConfiguration;
const prodWith = (settings: unknown): StageSettings | undefined =>
  read({ stage: 'prod', stages: { prod: settings } }).stages.get('prod');

describe('the configuration', () => {
  it('is staging and prod of AnimalStore, unless the context says otherwise', () => {
    const { name, stages, accountSettings, github } = read({});
    expect({ name, stages: [...stages.keys()], accountSettings, github }).toEqual({
      name: 'AnimalStore',
      stages: ['staging', 'prod'],
      accountSettings: 'managed',
      github: undefined,
    });
  });

  it('can be one stage alone', () => {
    expect([...read({ stage: 'staging' }).stages.keys()]).toEqual(['staging']);
  });

  it('touches no account for a laptop', () => {
    expect(read({ stage: 'local' }).accountSettings).toBe('existing');
  });

  it('takes the settings of a stage as an object or as text, and leaves what they do not name', () => {
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
      prod: { domain, waf: { requestsPerAddress: 2_000 }, notificationAddress: 'a@example.com' },
      staging: { logLevel: 'DEBUG' },
    };

    it.each([
      ['text', '{"prod":{"deployment":"all-at-once"}}'],
      ['an object', { prod: { deployment: 'all-at-once' } }],
    ])('keeps every setting of the file that they do not name, given as %s', (_, overrides) => {
      const { stages: without } = read({ stages: file });
      const { stages: overridden } = read({ stages: file, overrides });
      expect(overridden.get('prod')).toEqual({ ...without.get('prod'), deployment: 'all-at-once' });
      expect(overridden.get('prod')).toMatchObject(file.prod);
      expect(overridden.get('staging')).toEqual(without.get('staging'));
    });

    it('lets them win over the file, and take away what it sets', () => {
      const { stages } = read({
        stages: file,
        overrides: { prod: { waf: null, domain: { name: 'b.example' } } },
      });
      expect(stages.get('prod')?.waf).toBeUndefined();
      expect(stages.get('prod')?.domain).toEqual({ ...domain, name: 'b.example' });
    });

    it('checks the outcome as it checks the file', () => {
      expect(() => read({ stages: file, overrides: { prod: { alarms: false } } })).toThrow(
        'stages.prod.alarms: must be true for deployment "canary"',
      );
    });
  });

  it('leaves to CDK what is its own', () => {
    const context = z
      .object({ context: z.record(z.string(), z.unknown()) })
      .parse(JSON.parse(readFileSync('cdk.json', 'utf8'))).context;
    const ofCommandLine = {
      'aws:cdk:enable-path-metadata': true,
      'aws-cdk:enableDiffNoFail': true,
      'availability-zones:account=123456789012:region=eu-west-1': ['eu-west-1a'],
      'acknowledged-issue-numbers': [1],
    };
    expect(read({ ...context, ...ofCommandLine })).toEqual(read({}));
  });

  it.each(['owner/animal-store', 'owner@1/animal-store@23'])(
    'takes a repository as tokens of GitHub name it: %s',
    (github) => {
      expect(read({ github }).github).toEqual({ repository: github, providerExists: false });
    },
  );

  it('takes a setting away with null', () => {
    const { stages } = read({ stages: { staging: { throttle: null } } });
    expect(stages.get('staging')?.throttle).toBeUndefined();
  });

  it.each([
    ['an unknown stage', { stage: 'qa' }, 'context.stage: must be one of local, staging, prod'],
    [
      'a name that no stack can have',
      { name: '9 lives' },
      'context.name: must be 1 to 64 letters, digits and hyphens, with a letter first',
    ],
    ['a repository without owner', { github: 'animal-store' }, 'context.github: must be owner/repository'],
    ['a repository with a wildcard', { github: 'owner/*' }, 'context.github: must be owner/repository'],
    ['settings of an unknown stage', { stages: { qa: {} } }, 'context.stages: Unrecognized key: "qa"'],
    [
      'settings that are not valid JSON',
      { stages: '{"prod":\n off}' },
      /^context\.stages: must be valid JSON: Unexpected token .+ is not valid JSON$/,
    ],
    [
      'overrides that are not valid JSON',
      { overrides: 'prod' },
      /^context\.overrides: must be valid JSON: .+$/,
    ],
    ['overrides of an unknown stage', { overrides: { qa: {} } }, 'context.overrides: Unrecognized key: "qa"'],
    [
      'a name that is too long for a stack',
      { name: 'a'.repeat(65) },
      'context.name: must be 1 to 64 letters, digits and hyphens, with a letter first',
    ],
    [
      'a name with an underscore',
      { name: 'animal_store' },
      'context.name: must be 1 to 64 letters, digits and hyphens, with a letter first',
    ],
    [
      'a word for the account that it does not know',
      { accountSettings: 'exists' },
      'context.accountSettings: must be "managed" or "existing"',
    ],
    [
      'a word for the trust in GitHub that it does not know',
      { githubProvider: 'exists' },
      'context.githubProvider: must be "managed" or "existing"',
    ],
    ['a misspelt key', { stge: 'local' }, 'context: Unrecognized key: "stge"'],
    ['settings under a misspelt key', { stagess: '{}' }, 'context: Unrecognized key: "stagess"'],
  ])('refuses %s', (_, context, message) => {
    expect(() => read(context)).toThrow(ConfigurationError);
    expect(() => read(context)).toThrow(message);
  });

  const certificateArn = 'arn:aws:acm:eu-west-1:123456789012:certificate/1';

  it.each([
    ['an unknown key', { alarm: true }, 'stages.prod: Unrecognized key: "alarm"'],
    [
      'a key of the wrong type',
      { alarms: 'yes' },
      'stages.prod.alarms: Invalid input: expected boolean, received string',
    ],
    [
      'a web ACL without a regional API',
      { endpoint: 'edge', waf: { requestsPerAddress: 100 } },
      'stages.prod.waf: requires endpoint "regional"',
    ],
    [
      'a domain without a certificate',
      { domain: { name: 'api.example.com' } },
      'stages.prod.domain.certificateArn: is required: a domain needs a certificate',
    ],
    [
      'a certificate of something else',
      {
        domain: { name: 'api.example.com', certificateArn: 'arn:aws:iam::123456789012:server-certificate/1' },
      },
      'stages.prod.domain.certificateArn: must be the ARN of a certificate in ACM',
    ],
    [
      'an edge endpoint with a certificate elsewhere than in us-east-1',
      { endpoint: 'edge', domain: { name: 'api.example.com', certificateArn } },
      'stages.prod.domain.certificateArn: must be in us-east-1',
    ],
    [
      'a domain that is an address',
      { domain: { name: 'https://api.example.com/', certificateArn } },
      'stages.prod.domain.name: must be a valid host name',
    ],
    [
      'a canary that nothing would roll back',
      { alarms: false },
      'stages.prod.alarms: must be true for deployment "canary"',
    ],
    [
      'somebody to tell, and nothing to tell',
      { deployment: 'all-at-once', alarms: false, notificationAddress: 'a@example.com' },
      'stages.prod.notificationAddress: requires alarms to be true',
    ],
    [
      'a notification address that is none',
      { notificationAddress: 'on-call' },
      'stages.prod.notificationAddress: must be a valid e-mail address',
    ],
    [
      'a retention that CloudWatch does not offer',
      { logRetentionDays: 2 },
      'stages.prod.logRetentionDays: Invalid option',
    ],
    [
      'more provisioned than reserved concurrency',
      { functions: { authorizer: { reservedConcurrency: 1, provisionedConcurrency: 2 } } },
      'stages.prod.functions.authorizer.provisionedConcurrency: must not exceed reservedConcurrency',
    ],
    [
      'a canary of two versions that have no room beside each other',
      { functions: { authorizer: { reservedConcurrency: 5, provisionedConcurrency: 5 } } },
      'stages.prod.functions.authorizer.provisionedConcurrency: must be less than reservedConcurrency',
    ],
    [
      'a function that does not exist',
      { functions: { 'update-pet': { memory: 128 } } },
      'stages.prod.functions: Unrecognized key: "update-pet"',
    ],
    [
      'less memory than Lambda offers',
      { functions: { authorizer: { memory: 127 } } },
      'stages.prod.functions.authorizer.memory: Too small',
    ],
    [
      'more memory than Lambda offers',
      { functions: { authorizer: { memory: 10_241 } } },
      'stages.prod.functions.authorizer.memory: Too big',
    ],
    [
      'a function that may not run',
      { functions: { authorizer: { reservedConcurrency: 0 } } },
      'stages.prod.functions.authorizer.reservedConcurrency: Too small',
    ],
    [
      'no environments that are kept warm, which is said by leaving them out',
      { functions: { authorizer: { provisionedConcurrency: 0 } } },
      'stages.prod.functions.authorizer.provisionedConcurrency: Too small',
    ],
    [
      'a misspelt setting of a function',
      { functions: { authorizer: { memorySize: 512 } } },
      'stages.prod.functions.authorizer: Unrecognized key: "memorySize"',
    ],
    [
      'fewer requests than WAF can count',
      { waf: { requestsPerAddress: 9 } },
      'stages.prod.waf.requestsPerAddress: Too small',
    ],
    [
      'more requests than WAF can count',
      { waf: { requestsPerAddress: 2_000_000_001 } },
      'stages.prod.waf.requestsPerAddress: Too big',
    ],
    [
      'a misspelt setting of the web ACL',
      { waf: { requestsPerAddress: 100, block: true } },
      'stages.prod.waf: Unrecognized key: "block"',
    ],
    [
      'a rate that lets nothing through',
      { throttle: { requestsPerSecond: 0 } },
      'stages.prod.throttle.requestsPerSecond: Too small',
    ],
    ['a bucket that holds nothing', { throttle: { burst: 0 } }, 'stages.prod.throttle.burst: Too small'],
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
      'headers of gateway responses from elsewhere',
      { gatewayResponseHeaders: 'none' },
      'stages.prod.gatewayResponseHeaders: Invalid option',
    ],
    ...['WARN', 'ERROR', 'FATAL'].map((logLevel): [string, object, string] => [
      `a log level that drops the metrics: ${logLevel}`,
      { logLevel },
      'stages.prod.logLevel: must be "DEBUG" or "INFO": Lambda drops lines below the level',
    ]),
    ['half a token', { throttle: { burst: 1.5 } }, 'stages.prod.throttle.burst: Invalid input'],
    [
      'a misspelt setting of the throttle',
      { throttle: { rate: 5 } },
      'stages.prod.throttle: Unrecognized key: "rate"',
    ],
    [
      'a misspelt setting of the domain',
      { domain: { name: 'api.example.com', certificateArn, zone: 'example.com' } },
      'stages.prod.domain: Unrecognized key: "zone"',
    ],
    [
      'a zone that is none',
      { domain: { name: 'api.example.com', certificateArn, hostedZone: { id: 'Z1', name: 'Z1 example' } } },
      'stages.prod.domain.hostedZone.name: must be a valid host name',
    ],
    [
      'a misspelt setting of the zone',
      {
        domain: {
          name: 'api.example.com',
          certificateArn,
          hostedZone: { id: 'Z1', name: 'example.com', zoneName: 'example.com' },
        },
      },
      'stages.prod.domain.hostedZone: Unrecognized key: "zoneName"',
    ],
    [
      'an end of data that tables and logs do not have',
      { removalPolicy: 'snapshot' },
      'stages.prod.removalPolicy: Invalid option',
    ],
    [
      'a way to take over that there is not',
      { deployment: 'linear' },
      'stages.prod.deployment: Invalid option',
    ],
  ])('refuses %s', (_, settings, message) => {
    expect(() => prodWith(settings)).toThrow(ConfigurationError);
    expect(() => prodWith(settings)).toThrow(message);
  });

  it('lets all of a function be kept warm where versions change at once', () => {
    const concurrency = { reservedConcurrency: 5, provisionedConcurrency: 5 };
    const settings = { deployment: 'all-at-once', functions: { authorizer: concurrency } };
    expect(prodWith(settings)?.functions.authorizer).toMatchObject(concurrency);
  });

  it('names every mistake, in one line', () => {
    const mistakes = { alarm: true, endpoint: 'global', logLevel: 'LOUD' };
    expect(() => prodWith(mistakes)).toThrow(
      /^stages\.prod\.endpoint: [^\n;]+; stages\.prod\.logLevel: [^\n;]+; stages\.prod: [^\n;]+$/,
    );
  });

  it('stops the app with that one line and no stack trace', async () => {
    const context = JSON.stringify({ stage: 'prod', stages: { prod: { waff: {} } } });
    const app = promisify(execFile)(process.execPath, ['bin/animal-store.ts'], {
      env: { ...process.env, CDK_CONTEXT_JSON: context },
    });
    await expect(app).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'stages.prod: Unrecognized key: "waff"\n',
    });
  });
});
