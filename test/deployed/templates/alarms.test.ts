import { expect, test } from 'vitest';
import * as z from 'zod';
import { functionEntries, operationName } from '../../../functions/operations.ts';
import { alarmSchema, type Series, stateOf } from './alarm-states.ts';
import { resourcesOf, stackOf } from './synthesis.ts';

// Whether each alarm goes off when it has to, and only then. observability.test.ts has what else is true of alarms.

const stack = stackOf('Shelter-prod');
const alarms = new Map(
  resourcesOf(stack, 'AWS::CloudWatch::Alarm').map(([, { Properties }]) => {
    const alarm = alarmSchema.parse(Properties);
    return [alarm.AlarmName.replace(`${stack.name}-`, ''), alarm];
  }),
);

/** The periods are in seconds. */
const periodsSchema = z.object({
  AlarmName: z.string(),
  Metrics: z.array(z.object({ MetricStat: z.object({ Period: z.int() }).optional() })).default([]),
});

type Cases = Readonly<Record<string, readonly ['OK' | 'ALARM', Series]>>;

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);
/** The same value in each of five minutes. */
const minutes = (value: number) => times(5, value);
const [first, ...others] = functionEntries.map((entry) => operationName(entry));

const ofCount = (threshold: number): Cases => ({
  'no data': ['OK', { value: [] }],
  'one a minute': [threshold === 0 ? 'ALARM' : 'OK', { value: minutes(1) }],
  'the threshold': ['OK', { value: minutes(threshold) }],
  'one more than the threshold, in one minute': ['OK', { value: [threshold + 1] }],
  'one more than the threshold, in two minutes of five': [
    'ALARM',
    { value: [threshold + 1, 0, 0, threshold + 1, 0] },
  ],
  'a flood': ['ALARM', { value: minutes(100_000) }],
});

/** The cases of a table: calls that are throttled or fail, by operation, without zeros. */
const ofCalls = (name: string, threshold: number): Cases => {
  const [metric, another] = alarms
    .get(name)!
    .Metrics.flatMap(({ Id, Expression }) => (Expression ? [] : [Id]));
  return {
    'no data': ['OK', {}],
    'one a minute, of one operation': ['OK', { [metric!]: minutes(1) }],
    'one more than the threshold, of one operation': ['ALARM', { [metric!]: minutes(threshold + 1) }],
    ...(another !== undefined && {
      'one more than the threshold, together': [
        'ALARM',
        { [metric!]: minutes(threshold), [another]: minutes(1) },
      ],
    }),
    'a flood': ['ALARM', { [metric!]: minutes(10_000) }],
  };
};

/** A canary with a tenth of the lists. */
const canary = (newItems: number, liveItems: number, lists = 10): Series => ({
  newItems: minutes(newItems),
  newLists: minutes(lists),
  items: minutes(newItems + liveItems),
  lists: minutes(lists * 10),
});

const ofMostRequests: Cases = {
  'no data': ['OK', { errors: [], requests: [] }],
  'one request that fails': ['OK', { errors: [1], requests: [1] }],
  'two requests that fail': ['OK', { errors: [2], requests: [2] }],
  'three requests that fail': ['ALARM', { errors: [3], requests: [3] }],
  'three of six requests': ['OK', { errors: [3], requests: [6] }],
  'three of five requests': ['ALARM', { errors: [3], requests: [5] }],
  'three requests that fail, then none': ['OK', { errors: [3, undefined], requests: [3, undefined] }],
  'a flood, of which one per cent fails': ['OK', { errors: [10_000], requests: [1_000_000] }],
  'a flood that fails': ['ALARM', { errors: [1_000_000], requests: [1_000_000] }],
};

/** Requests a minute that the throttle of this stage permits. */
const permitted = 60 * 5;

const cases: Readonly<Record<string, Cases>> = {
  'known-keys-rejected': ofCount(20),
  'api-traffic': {
    'no data': ['ALARM', { requests: [] }],
    'one request': ['ALARM', { requests: [1] }],
    'as many as expected': ['OK', { requests: [100] }],
    'as many as expected, then none': ['ALARM', { requests: [100, undefined] }],
    'a flood': ['OK', { requests: [1_000_000] }],
  },
  'api-5xx': {
    'no data': ['OK', { errors: [], requests: [] }],
    'one request a minute that fails': ['OK', { errors: minutes(1), requests: minutes(1) }],
    'three of a hundred': ['ALARM', { errors: minutes(3), requests: minutes(100) }],
    'three of a thousand': ['OK', { errors: minutes(3), requests: minutes(1_000) }],
    'a flood that fails for one minute': ['OK', { errors: [0, 0, 1_000, 0, 0], requests: minutes(1_000) }],
    'a flood that fails': ['ALARM', { errors: minutes(1_000), requests: minutes(1_000) }],
  },
  // Two requests a minute that all fail are more than half of an hour after 31 minutes.
  'api-5xx-hour': {
    ...ofMostRequests,
    'two a minute that fail, for half an hour': ['OK', { errors: [60], requests: [120] }],
    'two a minute that fail, for a minute more': ['ALARM', { errors: [62], requests: [120] }],
  },
  // Of ten requests a day, eight hours have three or four.
  'api-5xx-8-hours': ofMostRequests,
  'api-latency': {
    'no data': ['OK', { value: [] }],
    'one slow request': ['OK', { value: [undefined, undefined, 2_900] }],
    'slow requests for 15 minutes': ['ALARM', { value: times(3, 1_001) }],
    'a flood that is fast enough': ['OK', { value: times(3, 1_000) }],
  },
  'api-slow': {
    'no data': ['OK', { latency: [], requests: [] }],
    'one slow request a minute': ['OK', { latency: minutes(2_900), requests: minutes(1) }],
    'twenty slow requests a minute': ['ALARM', { latency: minutes(1_001), requests: minutes(20) }],
    'a flood that is fast enough': ['OK', { latency: minutes(1_000), requests: minutes(100_000) }],
  },
  'api-throttle': {
    'no data': ['OK', { requests: [], rejected: [] }],
    'one request': ['OK', { requests: minutes(1), rejected: minutes(0) }],
    'four fifths': ['OK', { requests: minutes(0.8 * permitted), rejected: minutes(0) }],
    'more than four fifths': ['ALARM', { requests: minutes(0.8 * permitted + 1), rejected: minutes(0) }],
    'more than four fifths for one minute': ['OK', { requests: [0.9 * permitted], rejected: [0] }],
    'more than the throttle': ['ALARM', { requests: minutes(2 * permitted), rejected: minutes(permitted) }],
    // Its usage plan or the limiter rejects them. Others send one a second.
    'a flood of one client': ['OK', { requests: minutes(permitted), rejected: minutes(permitted - 60) }],
  },
  'account-concurrency': {
    'no data': ['OK', { value: [] }],
    'one request': ['OK', { value: minutes(1) }],
    'four fifths': ['OK', { value: minutes(800) }],
    'a flood': ['ALARM', { value: minutes(1_000) }],
  },
  'certificate-expiry': {
    'no data': ['OK', { value: [] }],
    '30 days': ['OK', { value: [30] }],
    '29 days': ['ALARM', { value: [29] }],
  },
  'limiter-fail-open': ofCount(4),
  'malformed-items': {
    'no data': ['OK', { value: [] }],
    'lists without a malformed item': ['OK', { value: [0] }],
    'one item in one minute': ['ALARM', { value: [1] }],
    'a flood': ['ALARM', { value: [1_000] }],
  },
  'newly-malformed-items': {
    'no data': ['OK', {}],
    'one list': ['OK', { newItems: [1], newLists: [1], items: [1], lists: [2] }],
    'without a canary, whatever is malformed': [
      'OK',
      { newItems: minutes(1_000), newLists: minutes(100), items: minutes(1_000), lists: minutes(100) },
    ],
    'before the canary, whatever the live version finds': [
      'OK',
      { items: minutes(1_000), lists: minutes(100) },
    ],
    'one item on the first page, which both find malformed': ['OK', canary(10, 90)],
    'the same in a flood': ['OK', canary(10_000, 90_000, 10_000)],
    'an old item on a page that few clients read, by chance of the new version': ['OK', canary(2, 0)],
    'one item on the first page that only the new version finds malformed': ['ALARM', canary(10, 0)],
    'the same beside an old one': ['OK', canary(20, 90)],
    'four times as many as the live version': ['ALARM', canary(20, 40)],
    'most items': ['ALARM', canary(200, 90)],
    'most items in a flood': ['ALARM', canary(200_000, 90_000, 10_000)],
    'for one minute': ['OK', { newItems: [10], newLists: [10], items: [10], lists: [100] }],
  },
  'function-errors': {
    'no data': ['OK', {}],
    'one crash': ['OK', { [first!]: [1] }],
    'two crashes of functions in two minutes': ['ALARM', { [first!]: [1, 0], [others[0]!]: [0, 1] }],
    'a flood': ['ALARM', Object.fromEntries([first!, ...others].map((id) => [id, minutes(1_000)]))],
  },
};

/** The cases of an alarm, or of all of its kind. */
function casesOf(name: string): Cases | undefined {
  if (cases[name] !== undefined) return cases[name];
  if (functionEntries.some((entry) => name === `${entry}-errors` || name === `${entry}-throttles`))
    return ofCount(0);
  if (name.endsWith('-throttles')) return ofCalls(name, 10);
  return name.endsWith('-system-errors') ? ofCalls(name, 5) : undefined;
}

test.each([...alarms])('%s goes off when it has to, and only then', (name, alarm) => {
  const all = casesOf(name)!;
  const states = Object.entries(all).map(([text, [, series]]) => [text, stateOf(alarm, series)]);
  expect(Object.fromEntries(states)).toEqual(
    Object.fromEntries(Object.entries(all).map(([text, [state]]) => [text, state])),
  );
  expect(Object.keys(all)).toContain('no data');
  expect(new Set(Object.values(all).map(([state]) => state))).toEqual(new Set(['OK', 'ALARM']));
});

test('most requests that fail are those of an hour, and of eight', () => {
  const periods = resourcesOf(stack, 'AWS::CloudWatch::Alarm').flatMap(([, { Properties }]) => {
    const { AlarmName, Metrics } = periodsSchema.parse(Properties);
    return Metrics.flatMap(({ MetricStat }) => (MetricStat ? [[AlarmName, MetricStat.Period] as const] : []));
  });
  const longer = periods.filter(([, period]) => period !== 60).map(([name, period]) => `${name} ${period}`);
  expect(new Set(longer)).toEqual(
    new Set(
      ['api-traffic 900', 'api-5xx-hour 3600', 'api-5xx-8-hours 28800'].map(
        (each) => `${stack.name}-${each}`,
      ),
    ),
  );
});
