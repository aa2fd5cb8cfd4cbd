import { readFileSync } from 'node:fs';
import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { planNames } from '../../../functions/access/plans.ts';
import { type TableName, tableNames } from '../../../functions/tables.ts';
import { tableDefinitions } from '../../../lib/storage/table-definitions.ts';
import { titleCase } from '../../../lib/title-case.ts';
import {
  idOf,
  ref,
  resourcesIfAny,
  resourcesOf,
  type Stack,
  stackOf,
  stacksOf,
  synthesize,
} from './synthesis.ts';

/** What a deployment must not replace or delete, because something outside of the template depends on it. */

const stages = ['AnimalStore-prod', 'AnimalStore-staging', 'AnimalStore-local', 'Shelter-prod'];
const prod = stackOf('AnimalStore-prod');
const staging = stackOf('AnimalStore-staging');

/**
 * CloudFormation replaces a resource whose logical ID changes, and a new table is an empty one. Never change an ID to make
 * this test pass: restore the construct's ID. Those of later resources are kept from release to release (last-release.test.ts).
 */
const pinned: Readonly<Record<string, readonly string[]>> = {
  'AWS::DynamoDB::GlobalTable': [
    'TablesPetsD2B49199',
    'TablesApiKeys330F873D',
    'TablesRateLimits87C09B19',
    'TablesIdempotency498FF680',
  ],
  // Its ID is part of the URL of clients. The domain, the usage plans and the key tool refer to it.
  'AWS::ApiGateway::RestApi': ['ApiRestApiE35FEAFE'],
  // Its ID is the last segment of that URL. Usage plans, the web ACL and the domain are bound to it.
  'AWS::ApiGateway::Stage': ['ApiRestApiDeploymentStagev157F58EAC'],
  // The key tool adds every key to one of them. A new usage plan has no keys, so all keys would be rejected.
  'AWS::ApiGateway::UsagePlan': [
    'UsagePlansFreeA3438353',
    'UsagePlansProD81A9807',
    'UsagePlansBusiness61B4708B',
    'UsagePlansEnterprise7D83AA70',
  ],
};

const tableIdOf = (name: TableName) => idOf(prod.Outputs[`${titleCase(name)}TableName`]?.Value);

describe('logical IDs', () => {
  it.each(stages.flatMap((name) => Object.entries(pinned).map(([type, ids]) => [name, type, ids] as const)))(
    'are kept in %s: %s',
    (name, type, ids) => {
      expect(resourcesOf(stackOf(name), type).map(([id]) => id)).toEqual(expect.arrayContaining([...ids]));
    },
  );

  it('of the alarm topic are kept, because operators subscribe to it by hand', () => {
    for (const stack of [prod, staging]) {
      expect(resourcesOf(stack, 'AWS::SNS::Topic').map(([id]) => id)).toEqual(['AlarmsTopic3A2DFEBA']);
    }
  });

  it('of the tables belong to the outputs that the key tool reads', () => {
    expect(tableNames.map(tableIdOf)).toEqual(
      resourcesOf(prod, 'AWS::DynamoDB::GlobalTable').map(([id]) => id),
    );
  });
});

describe('data and logs', () => {
  const kept = ['AWS::DynamoDB::GlobalTable', 'AWS::Logs::LogGroup'];

  it.each([
    // RetainExceptOnCreate: a deployment that fails leaves nothing that the next one could not create.
    [prod, { DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' }],
    [staging, { DeletionPolicy: 'Delete', UpdateReplacePolicy: 'Delete' }],
  ] as const)('are kept when their stack is deleted, in prod only: $name', (stack, policies) => {
    for (const type of kept) stack.template.allResources(type, policies);
  });

  it.each([
    [prod, true],
    [staging, false],
  ] as const)('cannot be deleted by mistake, in prod only: $name', (stack, isProtected) => {
    stack.template.allResourcesProperties('AWS::DynamoDB::GlobalTable', {
      Replicas: [Match.objectLike({ DeletionProtectionEnabled: isProtected })],
    });
    expect(stack.isProtected).toBe(isProtected);
  });

  it('can serve at once what is set, in the indexes too that requests read', () => {
    const shelter = stackOf('Shelter-prod');
    const warm = { ReadUnitsPerSecond: 20_000, WriteUnitsPerSecond: 5_000 };
    const { Properties: pets } = shelter.Resources[tableIdOf('pets')]!;
    expect(pets['WarmThroughput']).toEqual(warm);
    const indexes = Object.keys(tableDefinitions.pets.indexes ?? {});
    expect(indexes).toContain('byStatus');
    expect(pets['GlobalSecondaryIndexes']).toMatchObject(
      indexes.map((IndexName) => ({ IndexName, WarmThroughput: warm })),
    );
    const set = { apiKeys: { readUnitsPerSecond: 12_000, writeUnitsPerSecond: 4_000 } };
    const keys = stacksOf({ stage: 'prod', stages: { prod: { warmThroughput: set } } }).get(
      'AnimalStore-prod',
    )!;
    const { Properties: apiKeys } = keys.Resources[tableIdOf('apiKeys')]!;
    expect(apiKeys['WarmThroughput']).toEqual({ ReadUnitsPerSecond: 12_000, WriteUnitsPerSecond: 4_000 });
    expect(apiKeys['GlobalSecondaryIndexes']).toHaveLength(3);
    // No request reads them.
    expect(JSON.stringify(apiKeys['GlobalSecondaryIndexes'])).not.toContain('WarmThroughput');
  });

  it('can be restored in prod, but for tables whose items end within a day', () => {
    const others = tableNames.filter((name) => {
      const { Properties } = prod.Resources[tableIdOf(name)]!;
      return !JSON.stringify(Properties['Replicas']).includes('"PointInTimeRecoveryEnabled":true');
    });
    expect(others).toEqual(['rateLimits', 'idempotency']);
  });
});

describe('two copies in one account and Region', () => {
  const one = synthesize('default');
  const two = synthesize('copy');

  it('have different stacks and share that of the account', () => {
    expect([...two.keys()].toSorted()).toEqual(['AnimalStore-account', 'Shelter-prod', 'Shelter-staging']);
    expect([...two.keys()].filter((name) => one.has(name))).toEqual(['AnimalStore-account']);
    expect(one.get('AnimalStore-account')!.Resources).toEqual(two.get('AnimalStore-account')!.Resources);
  });

  /** The property of each type that must be unique in the account and Region. */
  const naming: Readonly<Record<string, string>> = {
    'AWS::CloudWatch::Alarm': 'AlarmName',
    'AWS::CloudWatch::Dashboard': 'DashboardName',
    'AWS::Logs::QueryDefinition': 'Name',
    'AWS::ApiGateway::RestApi': 'Name',
    'AWS::ApiGateway::UsagePlan': 'UsagePlanName',
  };

  /** Types whose names CloudFormation generates, unless somebody sets them. */
  const generated: Readonly<Record<string, string>> = {
    'AWS::DynamoDB::GlobalTable': 'TableName',
    'AWS::Lambda::Function': 'FunctionName',
    'AWS::IAM::Role': 'RoleName',
    'AWS::Logs::LogGroup': 'LogGroupName',
    'AWS::SNS::Topic': 'TopicName',
    'AWS::CodeDeploy::Application': 'ApplicationName',
    'AWS::WAFv2::WebACL': 'Name',
  };

  /** Shelter-staging has no optional parts. */
  const ofType = (stack: Stack, type: string) =>
    (stack.name === 'Shelter-staging' ? resourcesIfAny : resourcesOf)(stack, type);

  it.each(['Shelter-staging', 'Shelter-prod'])(
    'name resources after their stack, or not at all: %s',
    (name) => {
      const stack = stackOf(name);
      for (const [type, property] of Object.entries(naming)) {
        for (const [, { Properties }] of ofType(stack, type)) {
          expect(JSON.stringify(Properties[property])).toContain(name);
        }
      }
      for (const [type, property] of Object.entries(generated)) {
        const own = ofType(stack, type).filter(([, { Properties }]) => property in Properties);
        expect(own.map(([id]) => id)).toEqual([]);
      }
    },
  );

  it('have no exports, whose names are shared', () => {
    for (const { Outputs } of [...one.values(), ...two.values()]) {
      expect(Object.values(Outputs).filter(({ Export }) => Export !== undefined)).toEqual([]);
    }
  });
});

it('stages of different accounts and Regions have stacks there, and each account its own of those that it has once', () => {
  const stacks = [...synthesize('accounts')].map(
    ([id, stack]) => [id, stack.name, stack.environment] as const,
  );
  const [one, two] = ['aws://111111111111/eu-west-1', 'aws://222222222222/eu-central-1'];
  expect(stacks.toSorted(([a], [b]) => a.localeCompare(b))).toEqual([
    ['AnimalStore-account-prod', 'AnimalStore-account', two],
    ['AnimalStore-account-staging', 'AnimalStore-account', one],
    ['AnimalStore-delivery-prod', 'AnimalStore-delivery', two],
    ['AnimalStore-delivery-staging', 'AnimalStore-delivery', one],
    ['AnimalStore-prod', 'AnimalStore-prod', two],
    ['AnimalStore-staging', 'AnimalStore-staging', one],
  ]);
  expect(stackOf('AnimalStore-prod').environment).toBe('aws://unknown-account/unknown-region');
});

it('stages of one account and two Regions have stacks in both', () => {
  const settings = {
    staging: { account: '111111111111', region: 'eu-west-1' },
    prod: { account: '111111111111', region: 'eu-central-1' },
  };
  const stacks = stacksOf({ accountSettings: 'managed', stages: settings });
  expect(Object.fromEntries([...stacks].map(([id, { environment }]) => [id, environment]))).toEqual({
    'AnimalStore-account-staging': 'aws://111111111111/eu-west-1',
    'AnimalStore-staging': 'aws://111111111111/eu-west-1',
    'AnimalStore-account-prod': 'aws://111111111111/eu-central-1',
    'AnimalStore-prod': 'aws://111111111111/eu-central-1',
  });
});

describe('the first deployment of prod', () => {
  const overrides = { prod: { deletionProtection: false } };
  const first = stacksOf({ stage: 'prod', overrides }).get('AnimalStore-prod')!;

  it('can leave the protection off, so that a stack that was not created can be deleted', () => {
    expect(first.isProtected).toBe(false);
    first.template.allResourcesProperties('AWS::DynamoDB::GlobalTable', {
      Replicas: [Match.objectLike({ DeletionProtectionEnabled: false })],
    });
  });

  it('warns that the protection is off', () => {
    expect(first.warnings).toContainEqual(expect.stringContaining('deletionProtection is off.'));
    expect(prod.warnings).not.toContainEqual(expect.stringContaining('deletionProtection'));
  });
});

describe('a stack', () => {
  it('of prod warns if its alarms notify nobody', () => {
    const warning = expect.stringContaining('The alarms notify nobody. Set notificationAddress') as string;
    expect(prod.warnings).toContainEqual(warning);
    expect(stackOf('Shelter-prod').warnings).not.toContainEqual(warning);
    expect(staging.warnings).not.toContainEqual(warning);
  });

  it('has the outputs that the key tool, the smoke test and operators use', () => {
    const tables = tableNames.map((name) => `${titleCase(name)}TableName`);
    const plans = planNames.map((plan) => `UsagePlanId${titleCase(plan)}`);
    const names = ['ApiUrl', 'RestApiId', ...tables, ...plans];
    expect(Object.keys(stackOf('AnimalStore-local').Outputs).toSorted()).toEqual(names.toSorted());
    expect(Object.keys(prod.Outputs).toSorted()).toEqual([...names, 'AlarmTopicArn'].toSorted());
    expect(prod.Outputs['RestApiId']?.Value).toEqual(ref('ApiRestApiE35FEAFE'));
  });

  it('has the commit that a deployment gives it', () => {
    const given = stacksOf({ stage: 'prod', 'animal-store:commit': '0123' }).get('AnimalStore-prod')!;
    expect(given.Outputs['Commit']?.Value).toBe('0123');
    expect(given.Resources).toEqual(stacksOf({ stage: 'prod' }).get('AnimalStore-prod')!.Resources);
  });

  it.each(['prod', 'staging'])('has tags that separate its cost by service and stage: %s', (stage) => {
    const stack = stackOf(`AnimalStore-${stage}`);
    expect(stack.tags).toEqual({ service: 'animal-store', stage });
    // CloudFormation does not give the tags of a stack to these: backups and the bill find them by their own.
    const tags = Object.entries(stack.tags).map(([Key, Value]) => ({ Key, Value }));
    stack.template.allResourcesProperties('AWS::DynamoDB::GlobalTable', {
      Replicas: [Match.objectLike({ Tags: tags })],
    });
  });

  it('has tags that its page of recovery gives to restored tables, because an import does not', () => {
    const recovery = readFileSync('docs/runbook.md', 'utf8');
    const tags = Object.entries(prod.tags).map(([key, value]) => `Key=${key},Value=${value}`);
    expect(recovery).toContain(`aws dynamodb tag-resource --tags ${tags.join(' ')} `);
  });
});
