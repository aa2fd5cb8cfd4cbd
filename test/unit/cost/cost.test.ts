import { readFile } from 'node:fs/promises';
import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { itemBytes, readUnits, writeUnits } from '../../../tools/cost/capacity.ts';
import { prices } from '../../../tools/cost/prices.ts';
import { costParts } from '../../../tools/cost/report.ts';
import { costOf, ordinary, usesOf, worst } from '../../../tools/cost/requests.ts';
import { footprintOf, readTemplate, type StageFootprint } from '../../../tools/cost/stage.ts';
import { withGenerated } from '../../../tools/generated.ts';
import { footprint } from './footprint.ts';

describe('docs/cost.md', () => {
  it('shows what the code and the templates cost now (npm run cost -- --write renews it)', async () => {
    const document = await readFile('docs/cost.md', 'utf8');
    const parts = costParts({ staging: footprintOf('staging'), prod: footprintOf('prod') });
    expect(withGenerated(document, parts)).toBe(document);
  });
});

describe('Capacity', () => {
  it.each([
    [1, 0.5, 1],
    [4096, 0.5, 1],
    [4097, 1, 2],
    [8193, 1.5, 3],
  ])('of a read of %i bytes is %f units, or %f when it is consistent', (bytes, eventual, consistent) => {
    expect(readUnits(bytes)).toBe(eventual);
    expect(readUnits(bytes, { consistent: true })).toBe(consistent);
  });

  it.each([
    [1, 1],
    [1024, 1],
    [1025, 2],
  ])('of a write of %i bytes is %i units', (bytes, units) => {
    expect(writeUnits(bytes)).toBe(units);
  });

  it('counts names of attributes, UTF-8 bytes, and a byte for two digits of a number', () => {
    expect(itemBytes({ name: 'Rex' })).toBe(7);
    expect(itemBytes({ name: '🐈' })).toBe(8);
    expect(itemBytes({ id: 1234 })).toBe(2 + 3);
    expect(itemBytes({ id: -12_300 })).toBe(2 + 3);
  });
});

describe('The use of a request', () => {
  const uses = usesOf(footprint);

  it('is what it is made of: a call, its executions, its capacity, its lines, its bytes', () => {
    expect(uses.get).toMatchObject({
      gatewayCall: 1,
      // Its own execution, and a tenth of the authorizer's.
      invocation: 1.1,
      readUnit: 0.5 + 0.1,
      writeUnit: 1 + 0.1,
    });
    const milliseconds = ordinary.roundTrip + ordinary.coldStarts * ordinary.coldStart;
    expect(uses.get.gbSecond).toBeCloseTo((milliseconds / 1000) * (1 + 0.1 * 0.5), 12);
  });

  it('is not charged by API Gateway when the gateway itself turns the request away', () => {
    for (const kind of ['throttled', 'unauthenticated', 'unknownKey'] as const) {
      expect(uses[kind].gatewayCall).toBeUndefined();
      expect(costOf(uses[kind])).toBeLessThan(costOf(uses.get) / 2);
    }
  });

  it('costs the more, the fewer requests a key sends in a minute', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60_000 }), fc.integer({ min: 1, max: 1_000 }), (few, more) => {
        const [sparse, dense] = [few, few + more].map((requestsPerActiveMinute) =>
          costOf(usesOf(footprint, { ...ordinary, requestsPerActiveMinute }).list),
        );
        expect(sparse).toBeGreaterThan(dense!);
      }),
      { numRuns: 50 },
    );
  });

  it('is nowhere more than under the worst assumptions', () => {
    const dearest = usesOf(footprint, worst);
    for (const kind of Object.keys(uses) as (keyof typeof uses)[]) {
      expect(costOf(dearest[kind])).toBeGreaterThanOrEqual(costOf(uses[kind]));
    }
  });

  it('charges the access log by the line that the stage writes', () => {
    const longer = usesOf({ ...footprint, accessLogFormat: `${footprint.accessLogFormat}0123456789` });
    expect(longer.get.logIngestion! - uses.get.logIngestion!).toBeCloseTo(10, 9);
    const strange = { ...footprint, accessLogFormat: '$context.somethingNew' };
    expect(() => usesOf(strange)).toThrow('$context.somethingNew');
  });
});

describe('The cost of a stage', () => {
  it('has the metrics of each method where they are on, five for each, and only there', () => {
    const without = { ...footprint, meteredMethods: 0 };
    expect(costParts({ staging: without, prod: without })['idle']).not.toContain('each method');
    expect(costParts({ staging: without, prod: footprint })['idle']).toMatch(
      /Metrics of each method of the API +\| +0 \| +0\.00 \| +35 \| +10\.50 \|/,
    );
  });
});

describe('Prices', () => {
  it('each have a source', () => {
    for (const { source, usd, per } of Object.values(prices)) {
      expect(new URL(source).hostname).toBe('aws.amazon.com');
      expect(usd).toBeGreaterThan(0);
      expect(per).toBeGreaterThan(0);
    }
  });
});

describe('The footprint of a stage', () => {
  let prod: StageFootprint;
  beforeAll(() => {
    prod = footprintOf('prod');
  });

  it('has every function with its memory', () => {
    expect([...prod.memory.keys()].toSorted()).toEqual([
      'authorizer',
      'create-pet',
      'get-pet',
      'list-pets',
      'unmatched-route',
    ]);
    for (const memory of prod.memory.values()) expect(memory).toBeGreaterThanOrEqual(128);
  });

  it('has what prod is watched with, and its recovery', () => {
    expect(prod.alarmMetrics).toBeGreaterThan(10);
    expect(prod.dashboards).toBe(2);
    expect(prod.pointInTimeRecovery).toBe(true);
    expect(prod.accessLogFormat).toContain('$context.requestId');
    expect(prod.meteredMethods).toBe(0);
  });

  it('counts an alarm by the metrics that it reads', () => {
    const stat = { MetricStat: {} };
    const { alarmMetrics } = readTemplate({
      Resources: {
        Stage: {
          Type: 'AWS::ApiGateway::Stage',
          Properties: { AccessLogSetting: { Format: '' }, MethodSettings: [] },
        },
        Logs: { Type: 'AWS::Logs::LogGroup', Properties: { RetentionInDays: 1 } },
        Plain: { Type: 'AWS::CloudWatch::Alarm', Properties: { MetricName: 'Errors' } },
        Computed: {
          Type: 'AWS::CloudWatch::Alarm',
          Properties: { Metrics: [{ Expression: 'a / b' }, stat, stat] },
        },
      },
    });
    expect(alarmMetrics).toBe(3);
  });
});
