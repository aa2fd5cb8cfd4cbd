import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { addStacks } from '../../lib/app.ts';

/**
 * Runs where cfn-lint is installed: `pip install cfn-lint`. The project's check (.ci/run) installs it.
 * https://github.com/aws-cloudformation/cfn-lint
 */
const installed = spawnSync('cfn-lint', ['--version']).status === 0;

const certificate = (region: string) => `arn:aws:acm:${region}:123456789012:certificate/1`;
const hostedZone = { id: 'Z1', name: 'example.com' };
const domain = { name: 'api.example.com', certificateArn: certificate('eu-central-1') };
const ofProd = (settings: object) => ({ stage: 'prod', stages: { prod: settings } });

const variants: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'staging, prod, account and delivery': { github: 'owner/repository' },
  'delivery with an existing provider': {
    stage: 'prod',
    github: 'owner/repository',
    githubProvider: 'existing',
    accountSettings: 'existing',
  },
  local: { stage: 'local' },
  'a domain with its zone': ofProd({ domain: { ...domain, hostedZone } }),
  'a domain without a zone': ofProd({ domain }),
  'a web ACL, a throttle and a notification address': ofProd({
    waf: { requestsPerAddress: 1_000 },
    throttle: { requestsPerSecond: 100, burst: 100 },
    notificationAddress: 'a@example.com',
  }),
  'an edge endpoint with a domain': ofProd({
    endpoint: 'edge',
    domain: { ...domain, certificateArn: certificate('us-east-1'), hostedZone },
  }),
  'reserved and provisioned concurrency': ofProd({
    functions: { 'list-pets': { reservedConcurrency: 9, provisionedConcurrency: 2 } },
  }),
  'the throttles of a small Region, static headers, no alarms': ofProd({
    accountThrottle: { requestsPerSecond: 2_500, burst: 1_250 },
    gatewayResponseHeaders: 'static',
    deployment: 'all-at-once',
    alarms: false,
    dashboards: false,
  }),
};

/** The errors of cfn-lint, without warnings. One call for all templates, because each takes seconds to start. */
function lint(templates: string): { readonly errors: string; readonly status: number | null } {
  const { status, stdout, stderr } = spawnSync('cfn-lint', ['--ignore-checks', 'W', '--', templates], {
    encoding: 'utf8',
  });
  return { errors: stdout + stderr, status };
}

describe.runIf(installed)('cfn-lint', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'cfn-lint-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('finds no error in the templates of any variant', () => {
    const { context: flags } = z
      .object({ context: z.record(z.string(), z.unknown()) })
      .parse(JSON.parse(readFileSync('cdk.json', 'utf8')));
    for (const [name, context] of Object.entries(variants)) {
      const outdir = join(folder, 'variants', name.replaceAll(/\W+/g, '-'));
      const app = new App({ outdir, context: { ...flags, 'aws:cdk:bundling-stacks': [], ...context } });
      addStacks(app);
      app.synth();
    }
    expect(lint(join(folder, 'variants', '*', '*.template.json'))).toEqual({ errors: '', status: 0 });
  });

  it('finds the error in an invalid template', () => {
    const Resources = { Topic: { Type: 'AWS::SNS::Topic', Properties: { TopicName: 1, Title: 'a' } } };
    writeFileSync(join(folder, 'wrong.template.json'), JSON.stringify({ Resources }));
    const { errors, status } = lint(join(folder, 'wrong.template.json'));
    expect(errors).toContain('E3002');
    expect(status).not.toBe(0);
  });
});
