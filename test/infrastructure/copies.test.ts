import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { synthesize } from './synthesis.ts';

const one = synthesize();
const two = synthesize('copy');

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
  // The custom domain of the settings.
  'AWS::ApiGateway::DomainName.DomainName',
  'AWS::ApiGateway::BasePathMapping.DomainName',
  'AWS::Route53::RecordSet.Name',
]);

describe('two copies in one account and Region', () => {
  it('have different stack names and share the account stack', () => {
    expect(new Set(one.stackNames).intersection(new Set(two.stackNames))).toEqual(
      new Set(['AnimalStore-account']),
    );
    expect(two.stackNames.toSorted()).toEqual(['AnimalStore-account', 'Shelter-prod', 'Shelter-staging']);
    expect(one.stack('AnimalStore-account')).toEqual(two.stack('AnimalStore-account'));
  });

  it.each(['Shelter-staging', 'Shelter-prod'])('name resources after their stack only: %s', (name) => {
    for (const { Type, Properties } of Object.values(two.stack(name).Resources)) {
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
    const namespaces = [one.stack('AnimalStore-prod'), two.stack('Shelter-prod')].map(({ Resources }) => {
      const all = Object.values(Resources).flatMap(({ Properties }) => {
        const variables = z
          .object({ Environment: z.object({ Variables: z.object({ METRICS_NAMESPACE: z.string() }) }) })
          .safeParse(Properties);
        return variables.success ? [variables.data.Environment.Variables.METRICS_NAMESPACE] : [];
      });
      return [...new Set(all)];
    });
    expect(namespaces).toEqual([['AnimalStore-prod'], ['Shelter-prod']]);
  });
});
