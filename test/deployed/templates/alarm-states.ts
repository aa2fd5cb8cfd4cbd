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
 * The state of an alarm after these values.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
 */
export function stateOf(alarm: Alarm, series: Series): 'OK' | 'ALARM' {
  const { ComparisonOperator: operator, Threshold: threshold, Metrics, EvaluationPeriods: length } = alarm;
  const expression = Metrics.find(({ Expression }) => Expression !== undefined)?.Expression ?? 'value';
  const unknown = Object.keys(series).filter(
    (id) => id !== 'value' && !Metrics.some((metric) => metric.Id === id),
  );
  if (unknown.length > 0) throw new Error(`${alarm.AlarmName} has no metrics ${unknown.join(', ')}`);
  const datapoints = Array.from({ length }, (_, index) => {
    const values = Object.entries(series).map(([id, all]) => [id, all[all.length - length + index]]);
    return valueOf(expression, Object.fromEntries(values) as Record<string, number | undefined>);
  });
  const breaches = datapoints.filter((value) => {
    if (value === undefined) return alarm.TreatMissingData === 'breaching';
    return operator === 'GreaterThanThreshold' ? value > threshold : value < threshold;
  });
  return breaches.length >= alarm.DatapointsToAlarm ? 'ALARM' : 'OK';
}

/**
 * The value of an expression of metric math at one time. Undefined if one of its metrics has no value, unless FILL gives it one.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
 */
function valueOf(
  expression: string,
  values: Readonly<Record<string, number | undefined>>,
): number | undefined {
  let isMissing = false;
  const filled = expression.replaceAll(/FILL\((\w+), (\d+)\)/g, (_, id: string, other: string) =>
    String(values[id] ?? other),
  );
  const text = filled
    .replaceAll(/\b[a-z]\w*\b/g, (id) => {
      if (values[id] === undefined) isMissing = true;
      return String(values[id]);
    })
    .replaceAll(/\bAND\b/g, '&&');
  if (isMissing) return undefined;
  if (!/^[\d\s.+\-*/()<>=&,IF]+$/.test(text)) throw new Error(`Not known of metric math: ${expression}`);
  // oxlint-disable-next-line typescript/no-implied-eval -- an expression of our own template
  return new Function('IF', `return ${text}`)((condition: boolean, one: number, other: number) =>
    condition ? one : other,
  ) as number;
}
