import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { synthesize } from './synthesis.ts';

/** All optional parts, so that every possible name conflict is tested. */
const settings = {
  waf: { requestsPerAddress: 1_000 },
  notificationAddress: 'a@example.com',
};
const copy = (name: string) => synthesize({ name, stages: { staging: settings, prod: settings } });
const one = copy('Shelter');
const two = copy('Farm');

/** Properties whose values must be unique in the account and Region. */
const naming: Readonly<Record<string, string>> = {
  'AWS::CloudWatch::Alarm': 'AlarmName',
  'AWS::CloudWatch::Dashboard': 'DashboardName',
  'AWS::Logs::QueryDefinition': 'Name',
  'AWS::ApiGateway::RestApi': 'Name',
  'AWS::ApiGateway::UsagePlan': 'UsagePlanName',
  'AWS::SSM::Parameter': 'Name',
};

/** Names that must be unique only within another resource of the stack. */
const scoped: ReadonlySet<string> = new Set([
  'AWS::ApiGateway::Authorizer.Name',
  'AWS::ApiGateway::Stage.StageName',
  'AWS::IAM::Policy.PolicyName',
  'AWS::Lambda::Alias.Name',
  'AWS::Lambda::Alias.FunctionName',
  'AWS::Lambda::Permission.FunctionName',
  'AWS::Lambda::Version.FunctionName',
  'AWS::CodeDeploy::DeploymentGroup.ApplicationName',
  'AWS::CodeDeploy::DeploymentGroup.DeploymentConfigName',
  // The metric of an alarm, and the sender of the topic's e-mails.
  'AWS::CloudWatch::Alarm.MetricName',
  'AWS::SNS::Topic.DisplayName',
]);

describe('two copies in one account and Region', () => {
  it('have different stack names and share the account stack', () => {
    expect(one.stackNames.toSorted()).toEqual(['AnimalStore-account', 'Shelter-prod', 'Shelter-staging']);
    expect(two.stackNames.toSorted()).toEqual(['AnimalStore-account', 'Farm-prod', 'Farm-staging']);
    expect(one.stack('AnimalStore-account')).toEqual(two.stack('AnimalStore-account'));
  });

  it.each(['Shelter-staging', 'Shelter-prod'])('name resources after their stack only: %s', (name) => {
    for (const { Type, Properties } of Object.values(one.stack(name).Resources)) {
      for (const [property, value] of Object.entries(Properties)) {
        if (!property.endsWith('Name') || scoped.has(`${Type}.${property}`)) continue;
        expect(`${Type}.${property}`).toBe(`${Type}.${naming[Type]}`);
        expect(JSON.stringify(value)).toContain(name);
      }
    }
  });

  it('have no such name in common', () => {
    const namesOf = (copied: typeof one): string[] =>
      copied.stackNames
        .filter((stackName) => stackName !== 'AnimalStore-account')
        .flatMap((stackName) => Object.values(copied.stack(stackName).Resources))
        .flatMap(({ Type, Properties }) => {
          const property = naming[Type];
          return property === undefined ? [] : [`${Type} ${JSON.stringify(Properties[property])}`];
        });
    const names = [...namesOf(one), ...namesOf(two)];
    expect(names.length).toBeGreaterThan(100);
    expect(new Set(names).size).toBe(names.length);
  });

  it('have no exports', () => {
    for (const synthesis of [one, two]) {
      for (const stackName of synthesis.stackNames) {
        for (const { Export } of Object.values(synthesis.stack(stackName).Outputs))
          expect(Export).toBeUndefined();
      }
    }
  });

  it('write their metrics to separate namespaces', () => {
    const namespaces = [one.stack('Shelter-prod'), two.stack('Farm-prod')].map(({ Resources }) => {
      const all = Object.values(Resources).flatMap(({ Properties }) => {
        const variables = z
          .object({ Environment: z.object({ Variables: z.object({ METRICS_NAMESPACE: z.string() }) }) })
          .safeParse(Properties);
        return variables.success ? [variables.data.Environment.Variables.METRICS_NAMESPACE] : [];
      });
      return [...new Set(all)];
    });
    expect(namespaces).toEqual([['Shelter-prod'], ['Farm-prod']]);
  });
});
