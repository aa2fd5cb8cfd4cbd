import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import {
  type MetricName,
  metrics,
  planDimension,
  versionDimension,
} from '../../../functions/http/metrics.ts';
import { toLogLine } from '../../../functions/http/telemetry.ts';

const now = Date.parse('2026-07-01T12:00:00.123Z');
type RequestRecord = Parameters<typeof toLogLine>[0];
const record: RequestRecord = {
  requestId: 'request-1',
  traceId: '1-6925e5a0-0123456789abcdef01234567',
  operation: 'listPets',
  status: 200,
  durationMs: 12.345_678,
  coldStart: false,
  version: '7',
  keyId: 'key_1',
  plan: 'free',
  errors: [],
  counts: new Map([[metrics.admitted, 1]]),
};

/** The embedded metric format, as CloudWatch reads it. */
const embeddedMetrics = z.object({
  Timestamp: z.int(),
  CloudWatchMetrics: z
    .array(
      z.object({
        Namespace: z.string(),
        Dimensions: z.array(z.array(z.string())),
        Metrics: z.array(z.object({ Name: z.string(), Unit: z.literal('Count') })).check(z.maxLength(100)),
      }),
    )
    .check(z.minLength(1)),
});
const parsedLine = z.looseObject({ _aws: z.optional(embeddedMetrics), errors: z.optional(z.unknown()) });

const line = (changes: Partial<RequestRecord> = {}) => lineOf({ ...record, ...changes });

function lineOf(of: RequestRecord): z.infer<typeof parsedLine> {
  const text = toLogLine(of, 'AnimalStore', now);
  expect(text).not.toContain('\n');
  return z.parse(parsedLine, JSON.parse(text));
}

describe('the log line of a request', () => {
  test('has the caller, operation, time, status and duration', () => {
    expect(line()).toMatchObject({
      timestamp: '2026-07-01T12:00:00.123Z',
      level: 'INFO',
      message: 'listPets 200',
      requestId: 'request-1',
      traceId: '1-6925e5a0-0123456789abcdef01234567',
      operation: 'listPets',
      status: 200,
      durationMs: 12.346,
      coldStart: false,
      keyId: 'key_1',
      plan: 'free',
    });
  });

  test('has its counts as metrics, by plan and in total', () => {
    const counts = new Map<MetricName, number>([
      [metrics.admitted, 1],
      [metrics.collision, 3],
    ]);
    const { _aws: embedded, ...root } = line({ counts });
    expect(embedded).toEqual({
      Timestamp: now,
      CloudWatchMetrics: [
        {
          Namespace: 'AnimalStore',
          Dimensions: [[planDimension], []],
          Metrics: [
            { Name: metrics.admitted, Unit: 'Count' },
            { Name: metrics.collision, Unit: 'Count' },
          ],
        },
      ],
    });
    // Every metric and dimension refers to a member of the root.
    expect(root).toMatchObject({ [metrics.admitted]: 1, [metrics.collision]: 3, [planDimension]: 'free' });
  });

  test('has the malformed items by version too, also if there are none', () => {
    const counts = new Map<MetricName, number>([
      [metrics.admitted, 1],
      [metrics.malformed, 0],
    ]);
    const { _aws: embedded, ...root } = line({ counts });
    expect(embedded?.CloudWatchMetrics[1]).toEqual({
      Namespace: 'AnimalStore',
      Dimensions: [[versionDimension]],
      Metrics: [{ Name: metrics.malformed, Unit: 'Count' }],
    });
    expect(root).toMatchObject({ [metrics.malformed]: 0, [versionDimension]: '7' });
    // Outside of Lambda there is no version.
    const { _aws: local, ...rest } = line({ counts, version: undefined });
    expect(local?.CloudWatchMetrics).toHaveLength(1);
    expect(rest).not.toHaveProperty(versionDimension);
  });

  test('of an unknown caller has metrics without a plan', () => {
    const { plan: _plan, keyId: _keyId, ...unknown } = record;
    const { _aws: embedded, ...root } = lineOf(unknown);
    expect(embedded?.CloudWatchMetrics[0]?.Dimensions).toEqual([[]]);
    expect(root).not.toHaveProperty(planDimension);
  });

  test('without counts has no metrics, and without errors no list of them', () => {
    expect(line({ counts: new Map() })).not.toHaveProperty('_aws');
    expect(line({ counts: new Map() })).not.toHaveProperty(planDimension);
    expect(line()).not.toHaveProperty('errors');
  });

  test('of an internal error has its message and its causes', () => {
    const root = new TypeError('the root');
    const middle = new Error('the middle', { cause: root });
    const { level, errors } = line({ errors: [new Error('the error', { cause: middle }), 'thrown text'] });
    expect(level).toBe('ERROR');
    expect(errors).toMatchObject([
      {
        name: 'Error',
        message: 'the error',
        cause: { message: 'the middle', cause: { name: 'TypeError', message: 'the root' } },
      },
      { message: 'thrown text' },
    ]);
    expect(JSON.stringify(errors)).toContain('telemetry.test.ts');
  });

  test('of an error has its causes down to the fourth, and only causes that exist', () => {
    const chain = (length: number): Error =>
      length === 1 ? new Error('root') : new Error('error', { cause: chain(length - 1) });
    const written = (length: number): unknown[] => {
      const found: unknown[] = [];
      let each = (line({ errors: [chain(length)] }).errors as unknown[])[0];
      for (; each !== undefined; each = (each as { cause?: unknown }).cause) found.push(each);
      return found;
    };
    expect(written(1)).toEqual([
      { name: 'Error', message: 'root', stack: expect.stringContaining('root') as string },
    ]);
    expect(written(3)).toHaveLength(3);
    expect(written(5)).toHaveLength(5);
    expect(written(9)).toHaveLength(5);
  });

  test('has only the name, message, stack and cause of an error, because other fields may contain a key', () => {
    const secret = 'as_prod_secret';
    const cause = Object.assign(new Error('refused'), { $response: { headers: { authorization: secret } } });
    const error = Object.assign(new Error('failed', { cause }), { request: { key: secret }, [secret]: 1 });
    expect(JSON.stringify(line({ errors: [error, { secret }] }))).not.toContain(secret);
  });
});

test('no two metrics share a name, and CloudWatch accepts each of them', () => {
  const names = Object.values(metrics);
  for (const name of [...names, planDimension]) expect(name).toMatch(/^[A-Z][A-Za-z]+$/);
  expect(new Set(names).size).toBe(names.length);
});
