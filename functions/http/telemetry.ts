import { traceId, version } from '../runtime/environment.ts';
import { type MetricName, metricsByVersion, planDimension, versionDimension } from './metrics.ts';
import type { Stage } from './stages.ts';

export interface Recorded {
  /** The event as Lambda passed it. */
  readonly event: unknown;
  readonly recorder: Recorder;
}

/** The stage that writes one log line for each request. The outermost one, so it sees what the client sees. */
export function recordRequests(operation: string, namespace: string): Stage<unknown, Recorded> {
  let coldStart = true;
  const record = ({ recorder }: Recorded, status: number): void => {
    const { identity, startedAt, errors, counts } = recorder;
    const durationMs = performance.now() - startedAt;
    const request = { ...identity, traceId: traceId() };
    const fields = {
      ...request,
      operation,
      status,
      durationMs,
      coldStart,
      errors,
      counts,
      version: version(),
    };
    coldStart = false;
    // console will not do, because Lambda wraps it and an embedded metric must be the whole line.
    process.stdout.write(`${toLogLine(fields, namespace, Date.now())}\n`);
  };
  return {
    before: (event) => ({ event, recorder: new Recorder() }),
    after: (recorded, result) => {
      record(recorded, result.statusCode);
      return result;
    },
    onError: (recorded, _error, result) => {
      record(recorded, result?.statusCode ?? 500);
      return result;
    },
  };
}

/** Collects the fields of the log line of a request. */
export class Recorder {
  readonly startedAt = performance.now();
  /** Internal errors with their causes. Never shown to the client: the request may even succeed. */
  readonly errors: unknown[] = [];
  readonly counts = new Map<MetricName, number>();
  /** Empty until the event is read. */
  identity: { readonly requestId?: string; readonly keyId?: string; readonly plan?: string } = {};

  count(metric: MetricName, by = 1): void {
    this.counts.set(metric, (this.counts.get(metric) ?? 0) + by);
  }
}

type RequestRecord = Recorder['identity'] &
  Pick<Recorder, 'errors' | 'counts'> & {
    readonly traceId: string | undefined;
    readonly operation: string;
    readonly status: number;
    readonly durationMs: number;
    readonly coldStart: boolean;
    /** The version of the function. It is undefined outside of Lambda. */
    readonly version: string | undefined;
  };

/**
 * One line of JSON, which is also the source of the metrics. `now` is in milliseconds since the Unix epoch.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
export function toLogLine(record: RequestRecord, namespace: string, now: number): string {
  const { errors, counts, durationMs, version: ofFunction, ...fields } = record;
  const definition = (Dimensions: readonly (readonly string[])[], names: readonly MetricName[]) => {
    const Metrics = names.map((name) => ({ Name: name, Unit: 'Count' }));
    return { Namespace: namespace, Dimensions, Metrics };
  };
  const names = [...counts.keys()];
  const byVersion = ofFunction === undefined ? [] : names.filter((name) => metricsByVersion.includes(name));
  const CloudWatchMetrics = [
    definition(record.plan === undefined ? [[]] : [[planDimension], []], names),
    ...(byVersion.length > 0 ? [definition([[versionDimension]], byVersion)] : []),
  ];
  return JSON.stringify({
    timestamp: new Date(now).toISOString(),
    level: errors.length > 0 ? 'ERROR' : 'INFO',
    message: `${record.operation} ${record.status}`,
    ...fields,
    durationMs: Math.round(durationMs * 1000) / 1000,
    ...(errors.length > 0 && { errors: errors.map((error) => errorForLog(error)) }),
    ...(counts.size > 0 && {
      _aws: { Timestamp: now, CloudWatchMetrics },
      ...(record.plan !== undefined && { [planDimension]: record.plan }),
      ...(byVersion.length > 0 && { [versionDimension]: ofFunction }),
      ...Object.fromEntries(counts),
    }),
  });
}

const maxCauseDepth = 4;

/** Takes only fields that are safe to log, because other properties of an error may hold a request with its headers. */
function errorForLog(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  const shown = cause !== undefined && depth < maxCauseDepth && { cause: errorForLog(cause, depth + 1) };
  return { name, message, stack, ...shown };
}
