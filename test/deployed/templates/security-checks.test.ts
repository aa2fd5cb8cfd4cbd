import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Stack, Validations } from 'aws-cdk-lib';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { UrlSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { describe, expect, it, vi } from 'vitest';
import { addStacks } from '../../../lib/app.ts';
import { acknowledge, addSecurityChecks } from '../../../lib/security-checks.ts';
import { contexts } from './synthesis.ts';

describe('a synthesis', () => {
  it('acknowledges only rules with a finding', () => {
    const acknowledged: { path: string; rule: string }[] = [];
    const of = Validations.of.bind(Validations);
    const spy = vi.spyOn(Validations, 'of').mockImplementation((scope) => {
      const validations = of(scope);
      validations.acknowledge = (...rules) => {
        acknowledged.push(...rules.map(({ id }) => ({ path: scope.node.path, rule: id })));
      };
      return validations;
    });
    try {
      // Prod has all optional parts, staging has none that has its own findings.
      const context = { ...contexts.copy, github: 'owner/repository' };
      const findings = findingsWithPathOf((app) => addStacks(app), context);
      expect(acknowledged.length).toBeGreaterThan(10);
      const unneeded = acknowledged.filter(
        ({ path, rule }) =>
          !findings.some((finding) => finding.rule === rule && `${finding.path}/`.startsWith(`${path}/`)),
      );
      expect(unneeded).toEqual([]);
    } finally {
      spy.mockRestore();
    }
  });

  it('fails with a finding of the security rules and of the serverless rules', () => {
    const context = { stage: 'staging' };
    const findings = findingsOf((app) => {
      addStacks(app);
      const stack = new Stack(app, 'Careless');
      new Bucket(stack, 'Bucket');
      new Topic(stack, 'Topic').addSubscription(new UrlSubscription('https://example.com/'));
    }, context);
    expect(findings).toEqual(expect.arrayContaining(['AwsSolutions-S1', 'Serverless-SNSRedrivePolicy']));
  });

  it('acknowledges only the rule that is named', () => {
    const findings = findingsOf((app) => {
      addSecurityChecks(app);
      const bucket = new Bucket(new Stack(app, 'Careless'), 'Bucket');
      acknowledge(bucket, { 'AwsSolutions-S1': 'The bucket is empty.' });
    });
    expect(findings).toEqual(['AwsSolutions-S10']);
  });
});

/** The rules whose findings fail the synthesis of an app. */
function findingsOf(prepare: (app: App) => void, context: Record<string, unknown> = {}): string[] {
  return findingsWithPathOf(prepare, context).map(({ rule }) => rule);
}

/** The same, each with the path of its construct. */
function findingsWithPathOf(
  prepare: (app: App) => void,
  context: Record<string, unknown> = {},
): { path: string; rule: string }[] {
  const outdir = mkdtempSync(join(tmpdir(), 'security-'));
  try {
    const app = new App({ outdir, context: { 'aws:cdk:bundling-stacks': [], ...context } });
    prepare(app);
    app.synth();
    return [];
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const findings = [...error.message.matchAll(/^ +(\S+) .*\n +Acknowledge with '\w+::([^']+)'/gm)].map(
      ([, path, rule]) => ({ path: path!, rule: rule! }),
    );
    if (findings.length === 0) throw error;
    return findings;
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}
