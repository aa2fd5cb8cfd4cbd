import * as z from 'zod';

/** What CloudWatch evaluates of an alarm. */
export const alarmSchema = z.object({
  AlarmName: z.string(),
  ComparisonOperator: z.enum(['GreaterThanThreshold', 'LessThanThreshold']),
  Threshold: z.number(),
  EvaluationPeriods: z.int(),
  DatapointsToAlarm: z.int(),
  TreatMissingData: z.enum(['notBreaching', 'breaching']),
  Metrics: z
    .array(
      z.object({ Id: z.string(), Expression: z.string().optional(), ReturnData: z.boolean().optional() }),
    )
    .default([]),
});
type Alarm = z.infer<typeof alarmSchema>;

/** Values of each metric of an alarm, one a period, the newest last. Undefined: it has none. The only metric of an alarm is `value`. */
export type Series = Readonly<Record<string, readonly (number | undefined)[]>>;

/**
 * The state of an alarm after these values. CloudWatch also retrieves older values than the alarm evaluates, and prefers them to
 * missing ones: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
 */
export function stateOf(alarm: Alarm, series: Series): 'OK' | 'ALARM' {
  const { ComparisonOperator: operator, Threshold: threshold, Metrics, EvaluationPeriods: length } = alarm;
  const expression = Metrics.find(({ Expression }) => Expression !== undefined)?.Expression ?? 'value';
  const unknown = Object.keys(series).filter(
    (id) => id !== 'value' && !Metrics.some((metric) => metric.Id === id),
  );
  if (unknown.length > 0) throw new Error(`${alarm.AlarmName} has no metrics ${unknown.join(', ')}`);
  // How many it retrieves is not documented. In its examples it retrieves two more.
  const retrieved = Array.from({ length: length + 2 }, (_, index) =>
    valueOf(expression, series, length + 2 - index),
  );
  const isBreach = (value: number) =>
    operator === 'GreaterThanThreshold' ? value > threshold : value < threshold;
  const existing = retrieved.filter((value) => value !== undefined).slice(-length);
  const missing = alarm.TreatMissingData === 'breaching' ? length - existing.length : 0;
  return existing.filter(isBreach).length + missing >= alarm.DatapointsToAlarm ? 'ALARM' : 'OK';
}

/**
 * The value of an expression of metric math so many periods ago. Where one metric has a value, missing ones are 0. A division by zero
 * has no value, and IF takes 0 for it: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
 */
function valueOf(expression: string, series: Series, ago: number): number | undefined {
  let exists = false;
  const numberOf = (value: number | undefined): string => {
    exists ||= value !== undefined;
    return String(value ?? 0);
  };
  const text = expression
    // Whether FILL makes zeros of a metric without any value is not known.
    .replaceAll(/FILL\((\w+), (\d+)\)/g, (_, id: string, other: string) =>
      numberOf(
        series[id]?.at(-ago) ?? (series[id]?.some((each) => each !== undefined) ? Number(other) : undefined),
      ),
    )
    .replaceAll(/\b[a-z]\w*\b/g, (id) => numberOf(series[id]?.at(-ago)))
    .replaceAll(/\bAND\b/g, '&&');
  if (!exists) return undefined;
  if (!/^[\d\s.+\-*/()<>=&,IF]+$/.test(text)) throw new Error(`Not known of metric math: ${expression}`);
  const orZero = (value: number) => (Number.isFinite(value) ? value : 0);
  // oxlint-disable-next-line typescript/no-implied-eval -- an expression of our own template
  const value = new Function('IF', `return ${text}`)((condition: boolean, one: number, other: number) =>
    condition ? orZero(one) : other,
  ) as number;
  return Number.isFinite(value) ? value : undefined;
}
