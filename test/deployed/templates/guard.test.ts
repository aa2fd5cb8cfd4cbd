import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { functionEntries } from '../../../functions/operations.ts';
import { tableAccess } from '../../../lib/table-access.ts';
import { titleCase } from '../../../lib/title-case.ts';
import { guard, isDecided } from '../../../tools/operators/deploy/guard.ts';
import { contexts, idOf, stackOf, stacksOf, synthesize } from './synthesis.ts';

/** The folder of the templates that are made here. */
const outdir = mkdtempSync(join(tmpdir(), 'guard-'));
afterAll(() => rmSync(outdir, { recursive: true }));

/** What stops a deployment. */
const stopsOf = (deployed: unknown, next: unknown, ...confirmed: string[]) =>
  guard(deployed, next, new Set(confirmed))
    .filter(({ kind }) => kind === 'stop')
    .map(({ text }) => text);

interface Version {
  readonly table?: string;
  readonly key?: string;
  readonly keyType?: AttributeType;
  readonly sortKey?: string;
  readonly tableName?: string;
  readonly removalPolicy?: RemovalPolicy;
  /** The sort key of each index, by its name. */
  readonly indexes?: Readonly<Record<string, string>>;
  /** Indexes that the code reads, `*` for all. */
  readonly reads?: readonly string[];
  readonly usesTable?: boolean;
}

/** The template of a service with one table and one role. */
function version({
  table: id = 'Pets',
  key = 'id',
  keyType = AttributeType.NUMBER,
  sortKey,
  tableName,
  removalPolicy = RemovalPolicy.RETAIN,
  indexes = {},
  reads = [],
  usesTable = false,
}: Version) {
  const stack = new Stack(new App({ outdir }));
  const text = (name: string) => ({ name, type: AttributeType.STRING });
  const table = new TableV2(stack, id, {
    partitionKey: { name: key, type: keyType },
    ...(sortKey !== undefined && { sortKey: text(sortKey) }),
    ...(tableName !== undefined && { tableName }),
    removalPolicy,
    globalSecondaryIndexes: Object.entries(indexes).map(([indexName, sortKeyOfIndex]) => ({
      indexName,
      partitionKey: text(`${indexName}Of`),
      sortKey: text(sortKeyOfIndex),
    })),
  });
  const role = new Role(stack, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
  const allow = (resource: string) =>
    role.addToPolicy(new PolicyStatement({ actions: ['dynamodb:Query'], resources: [resource] }));
  for (const name of reads) allow(`${table.tableArn}/index/${name}`);
  if (usesTable) allow(table.tableArn);
  return Template.fromStack(stack).toJSON() as unknown;
}

const stops = (before: Version, after: Version, ...confirmed: string[]) =>
  stopsOf(version(before), version(after), ...confirmed);
const sentence = (text: string) => [expect.stringContaining(text)];
/** The logical ID of the construct in `version`. */
const pets = 'Pets118546E0';

describe('a table', () => {
  it.each<[string, Version, Version, string]>([
    ['its key changes', { key: 'id' }, { key: 'petId' }, 'KeySchema'],
    ['it gets a sort key', {}, { sortKey: 'at' }, 'KeySchema'],
    ['the type of its key changes', {}, { keyType: AttributeType.STRING }, 'the type of id'],
    ['it gets a name', {}, { tableName: 'pets' }, 'TableName'],
  ])('is replaced if %s', (_, before, after, reason) => {
    const [found, confirm, ...more] = stops(before, after);
    expect(found).toMatch(
      new RegExp(`^${pets} .* is replaced by a new one, because (its )?.*${reason} changes\\.`),
    );
    expect([confirm, more]).toEqual([expect.stringContaining(`--confirm-loss ${pets},`), []]);
  });

  it.each<[string, Version, Version, string]>([
    [
      'it gets two indexes',
      {},
      { indexes: { a: 'at', b: 'at' } },
      'gets the index a, gets the index b. CloudFormation creates or deletes one index',
    ],
    ['it loses two indexes', { indexes: { a: 'at', b: 'at' } }, {}, 'loses the index a, loses the index b.'],
    [
      'an index is renamed',
      { indexes: { a: 'at' } },
      { indexes: { b: 'at' } },
      'gets the index b, loses the index a.',
    ],
    [
      'the key of an index changes',
      { indexes: { a: 'at' } },
      { indexes: { a: 'since' } },
      'changes, which CloudFormation refuses. Add an index with another name',
    ],
    [
      'an index is removed while the live version reads it',
      { indexes: { a: 'at' }, reads: ['a'] },
      {},
      'is removed while the live version reads it. First deploy a version that does not',
    ],
    [
      'an index is removed while the live version may read all',
      { indexes: { a: 'at' }, reads: ['*'] },
      {},
      'is removed while the live version reads it.',
    ],
    [
      'the new version reads an index that is new',
      {},
      { indexes: { a: 'at' }, reads: ['a'] },
      'First deploy the index alone, and wait until DynamoDB shows it as ACTIVE',
    ],
  ])('is not deployed if %s', (_, before, after, text) => {
    expect(stops(before, after)).toEqual(sentence(text));
  });

  it('that the live version uses is not removed, even if that is confirmed', () => {
    const uses: Version = { usesTable: true };
    const text = 'The live version uses it, so this cannot be confirmed.';
    expect(stops(uses, { ...uses, table: 'Animals' }, pets)).toEqual(sentence(text));
    expect(stops(uses, { ...uses, key: 'petId' }, pets)).toEqual(sentence(text));
  });

  it('is removed if that is confirmed', () => {
    const after: Version = { table: 'Others' };
    expect(stops({}, after)[0]).toContain(`${pets} (AWS::DynamoDB::GlobalTable) leaves the stack, and stays`);
    const before: Version = { removalPolicy: RemovalPolicy.DESTROY };
    expect(stops(before, after)[0]).toContain('is deleted. Its data is gone');
    expect(stops({}, after, 'Others')[1]).toContain(`--confirm-loss ${pets},`);
    expect(guard(version({}), version(after), new Set([pets]))).toEqual([
      { kind: 'warning', text: expect.stringMatching(/leaves the stack.* This is confirmed\.$/) },
    ]);
  });
});

it('a change of indexes is refused unless it is one that the code of both versions survives', () => {
  const some = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'));
  fc.assert(
    fc.property(some, some, some, some, (before, after, readBefore, readAfter) => {
      const made = (names: string[], reads: string[]): Version => ({
        indexes: Object.fromEntries(names.map((name) => [name, 'at'])),
        reads: reads.filter((name) => names.includes(name)),
      });
      const changed = [...new Set([...before, ...after])].filter(
        (name) => before.includes(name) !== after.includes(name),
      );
      const survives =
        changed.length === 0 ||
        (changed.length === 1 &&
          !(before.includes(changed[0]!) ? readBefore : readAfter).includes(changed[0]!));
      expect(stops(made(before, readBefore), made(after, readAfter)).length === 0).toBe(survives);
    }),
    { numRuns: 60 },
  );
});

type Json = Readonly<Record<string, unknown>>;
interface Made extends Json {
  readonly Resources: Readonly<Record<string, { readonly Type: string }>>;
}
const prodWith = (settings: Json, more: Json = {}): Made =>
  stacksOf({ stage: 'prod', stages: { prod: settings }, ...more })
    .get('AnimalStore-prod')!
    .template.toJSON() as Made;

describe('a deployment of the service', () => {
  const prod = stackOf('AnimalStore-prod').template.toJSON() as Made;
  const everything = contexts.copy.stages.prod;
  const full = prodWith(everything);
  const rewritten = (template: unknown, change: (text: string) => string): Made =>
    JSON.parse(change(JSON.stringify(template))) as Made;
  /** The resources that stop it. */
  const lost = (before: Made, after: Made) => {
    const named = stopsOf(before, after).map((text) => /^(\w+) \(/.exec(text)?.[1]);
    return named.flatMap((id) => (id === undefined ? [] : [before.Resources[id]!.Type.replace('AWS::', '')]));
  };

  it('with the same template, or with more settings, loses nothing', () => {
    expect(guard(prod, prod)).toEqual([]);
    const needed = { notificationAddress: everything.notificationAddress };
    const before = prodWith(needed);
    for (const [name, value] of Object.entries(everything))
      expect([name, guard(before, prodWith({ ...needed, [name]: value }))]).toEqual([name, []]);
  });

  it('with other settings of what stays loses nothing', () => {
    const { domain, functions } = everything;
    const others: Json = {
      ...everything,
      canary: { percent: 30, minutes: 20 },
      deployment: 'all-at-once',
      domain: { ...domain, certificateArn: domain.certificateArn.replace(/1$/, '2') },
      functions: { authorizer: { ...functions.authorizer, memory: 3008, provisionedConcurrency: 4 } },
      gatewayResponseHeaders: 'static',
      logRetentionDays: 365,
      minimumRequests: 50,
      monthlyBudget: 900,
      throttle: { requestsPerSecond: 5, burst: 50 },
      waf: { requestsPerAddress: 20_000 },
    };
    expect(guard(full, prodWith(others))).toEqual([]);
  });

  it('that creates the rest of a stack into which tables were imported loses nothing', () => {
    const imported = Object.entries(prod.Resources).filter(([id]) => /^Tables(Pets|ApiKeys)/.test(id));
    expect(imported).toHaveLength(2);
    expect(guard({ Resources: Object.fromEntries(imported) }, prod)).toEqual([]);
  });

  it('that gives the tables tags loses nothing', () => {
    const untagged = rewritten(full, (text) => text.replaceAll(/,"Tags":\[[^\]]*\](?=\})/g, ''));
    expect(untagged).not.toEqual(full);
    expect(guard(untagged, full)).toEqual([]);
  });

  it('with another TLS policy is deployed with a warning of the time that it takes', () => {
    const weaker = rewritten(full, (text) =>
      text.replace(/("Type":"AWS::ApiGateway::DomainName".*?"SecurityPolicy":")\w+/, '$1TLS_1_2'),
    );
    expect(guard(weaker, full)).toEqual([
      {
        kind: 'warning',
        text: expect.stringMatching(
          /^Domain\w+ \(AWS::ApiGateway::DomainName\) changes its TLS policy from TLS_1_2 to SecurityPolicy_TLS13\w+\. .* an hour/,
        ),
      },
    ]);
  });

  it('with new code loses nothing, nor with constructs that moved and kept their logical IDs', () => {
    const newCode = rewritten(prod, (text) =>
      text.replaceAll(
        /(CurrentVersion|Deployment)(\w{8})[0-9a-f]{32}/g,
        '$1$2ffffffffffffffffffffffffffffffff',
      ),
    );
    expect(Object.keys(newCode.Resources)).not.toEqual(Object.keys(prod.Resources));
    expect(guard(prod, newCode)).toEqual([]);
    const at = (path: string): Made => ({
      ...prod,
      Resources: Object.fromEntries(
        Object.entries(prod.Resources).map(([id, each]) => [
          id,
          { ...each, Metadata: { 'aws:cdk:path': `AnimalStore-prod/${path}/${id}` } },
        ]),
      ),
    });
    expect(guard(at('Here'), at('There'))).toEqual([]);
  });

  it.each([
    ['ApiRestApiE35FEAFE', ['ApiGateway::RestApi', 'ApiGateway::Stage']],
    ['UsagePlansProD81A9807', ['ApiGateway::UsagePlan']],
    ['FunctionsListPetsLogs', ['Logs::LogGroup']],
    ['AlarmsTopic3A2DFEBA', ['SNS::Topic', 'SNS::Subscription']],
  ])('in which %s gets another logical ID is stopped', (id, types) => {
    const exact = Object.keys(full.Resources).find((each) => each.startsWith(id));
    const renamed = rewritten(full, (text) => text.replaceAll(`"${exact}"`, `"Renamed${exact}"`));
    expect(lost(full, renamed)).toEqual(expect.arrayContaining(types));
  });

  it.each([
    [
      'domain',
      [
        'ApiGateway::BasePathMapping',
        'ApiGateway::DomainName',
        'CloudWatch::Alarm',
        'Route53::RecordSet',
        'Route53::RecordSet',
      ],
    ],
    ['minimumRequests', ['CloudWatch::Alarm']],
    ['monthlyBudget', ['Budgets::Budget']],
    ['waf', ['WAFv2::WebACL', 'WAFv2::WebACLAssociation']],
  ] as const)('without the setting %s is stopped, until each loss is confirmed', (setting, types) => {
    const { [setting]: _, ...others } = everything;
    const without = prodWith(others);
    expect(lost(full, without).toSorted()).toEqual(types);
    const options = stopsOf(full, without)
      .at(-1)!
      .matchAll(/--confirm-loss (\w+)/g);
    expect(stopsOf(full, without, ...[...options].map(([, id]) => id!))).toEqual([]);
  });

  it('is stopped if its e-mail address changes, or the name of its domain', () => {
    const address = prodWith({ ...everything, notificationAddress: 'b@example.com' });
    expect(lost(full, address)).toEqual(['SNS::Subscription', 'Budgets::Budget']);
    const domain = prodWith({ ...everything, domain: { ...everything.domain, name: 'b.example.com' } });
    expect(lost(full, domain)).toEqual(
      expect.arrayContaining(['ApiGateway::DomainName', 'Route53::RecordSet']),
    );
  });

  it('that removes a function removes its alarms with it, but not its log, nor the alarm of all functions', () => {
    const without = (isRemoved: (text: string) => boolean): Made => ({
      ...prod,
      Resources: Object.fromEntries(
        Object.entries(prod.Resources).filter(
          ([id, resource]) => !id.startsWith('FunctionsGetPet') && !isRemoved(JSON.stringify(resource)),
        ),
      ),
    });
    const isAbout = (text: string) => text.includes('"FunctionsGetPet');
    const isShared = (text: string) => text.includes('"FunctionsListPetsFunction');
    const intended = without((text) => isAbout(text) && !isShared(text));
    const removed = Object.keys(prod.Resources).filter((id) => !(id in intended.Resources));
    expect(removed.some((id) => prod.Resources[id]!.Type === 'AWS::CloudWatch::Alarm')).toBe(true);
    expect(new Set(lost(prod, intended))).toEqual(new Set(['Logs::LogGroup']));
    const [alarm, ...more] = stopsOf(prod, without(isAbout)).filter((text) => text.includes('Alarm)'));
    expect([alarm, more]).toEqual([expect.stringMatching(/^Alarmsfunctionerrors\w+ .* is deleted/), []]);
  });

  it.each<[string, Json, string, string]>([
    [
      'pointInTimeRecovery',
      { pointInTimeRecovery: false },
      'DynamoDB::GlobalTable',
      'can never again be restored to a time before this',
    ],
    ['logRetentionDays', { logRetentionDays: 30 }, 'Logs::LogGroup', 'is kept for 30 days. AWS deletes'],
  ])('with a %s that destroys data is stopped, until each loss is confirmed', (_, settings, type, text) => {
    const next = prodWith({ ...everything, ...settings });
    const found = stopsOf(full, next);
    expect(new Set(lost(full, next))).toEqual(new Set([type]));
    expect(found[0]).toContain(text);
    const options = found.at(-1)!.matchAll(/--confirm-loss (\w+)/g);
    expect(stopsOf(full, next, ...[...options].map(([, id]) => id!))).toEqual([]);
    expect(stopsOf(next, full)).toEqual([]);
  });

  it.each<[string, (text: string) => string]>([
    ['has another name', (text) => text.replaceAll('"Name":"live"', '"Name":"current"')],
    ['belongs to another function', (text) => text.replaceAll(/"(Functions\w+Function\w{8})"/g, '"$1New"')],
    ['is not changed by CodeDeploy', (text) => text.replaceAll('CodeDeployLambdaAliasUpdate', 'Other')],
  ])('whose alias %s, so that the new version has no canary, is stopped', (_, change) => {
    expect(lost(full, rewritten(full, change))).toContain('Lambda::Alias');
  });

  it('that removes provisioned concurrency from a new version is stopped, and each alone is not', () => {
    const newVersion = (template: Made) =>
      rewritten(template, (text) =>
        text.replaceAll(/(CurrentVersion\w{8})[0-9a-f]{32}/g, '$1ffffffffffffffffffffffffffffffff'),
      );
    const { functions: _, ...others } = everything;
    // The reserved concurrency stays, because it belongs to the version.
    const { provisionedConcurrency: __, ...authorizer } = everything.functions.authorizer;
    const without = prodWith({ ...others, functions: { authorizer } });
    expect(guard(full, without)).toEqual([]);
    expect(guard(full, newVersion(full))).toEqual([]);
    expect(stopsOf(full, newVersion(without))).toEqual([
      expect.stringMatching(/^FunctionsAuthorizerLive\w+ .* Use two: first deploy the new version/),
    ]);
  });

  it('has only types about which somebody has decided', () => {
    const types = (['default', 'copy', 'accounts', 'existing'] as const).flatMap((name) =>
      [...synthesize(name)].flatMap(([id, { Resources }]) =>
        /-(account|delivery)/.test(id) ? [] : Object.values(Resources).map(({ Type }) => Type),
      ),
    );
    expect(types.length).toBeGreaterThan(100);
    expect([...new Set(types)].filter((type) => !isDecided(type))).toEqual([]);
  });

  it('without one of the tables that functions use is stopped', () => {
    const used = new Set(functionEntries.flatMap((entry) => tableAccess(entry).map(({ table }) => table)));
    const tables = [...used].map((table) =>
      idOf(stackOf('AnimalStore-prod').Outputs[`${titleCase(table)}TableName`]?.Value),
    );
    for (const id of tables) {
      const { [id]: _, ...Resources } = prod.Resources;
      expect(stopsOf(prod, { ...prod, Resources }, ...tables)).toEqual(
        sentence(`${id} (AWS::DynamoDB::GlobalTable) leaves the stack`),
      );
    }
  });

  it('without the index that lists read is stopped', () => {
    const without = JSON.parse(
      JSON.stringify(prod, (_, value: unknown) =>
        Array.isArray(value)
          ? value.filter((each) => (each as { IndexName?: string } | null)?.IndexName !== 'byStatus')
          : value,
      ),
    ) as unknown;
    expect(stopsOf(prod, without)).toEqual(
      sentence('The index byStatus of the table TablesPetsD2B49199 is removed'),
    );
  });
});
