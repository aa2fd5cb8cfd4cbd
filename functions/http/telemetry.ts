import { type Metric, planDimension } from './metrics.ts';

/**
 * One line of JSON for each request, which is log and metrics at once: CloudWatch reads the counts from the
 * `_aws` part and Logs Insights the rest. Embedded metric format:
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
export interface RequestRecord {
  readonly requestId: string | undefined;
  readonly operation: string;
  readonly status: number;
  readonly durationMs: number;
  readonly coldStart: boolean;
  readonly keyId: string | undefined;
  readonly plan: string | undefined;
  /** Faults of ours, with their causes. Never shown to the client. */
  readonly faults: readonly unknown[];
  readonly counts: ReadonlyMap<Metric, number>;
}

/** @param now milliseconds since the Unix epoch */
export function toLogLine(record: RequestRecord, namespace: string, now: number): string {
  const { faults, counts, durationMs, ...fields } = record;
  const dimensions = record.plan === undefined ? [[]] : [[planDimension], []];
  return JSON.stringify({
    timestamp: new Date(now).toISOString(),
    level: faults.length > 0 ? 'ERROR' : 'INFO',
    message: `${record.operation} ${record.status}`,
    ...fields,
    durationMs: Math.round(durationMs * 1000) / 1000,
    ...(faults.length > 0 && { errors: faults.map((fault) => describe(fault)) }),
    ...(counts.size > 0 && {
      _aws: {
        Timestamp: now,
        CloudWatchMetrics: [
          {
            Namespace: namespace,
            Dimensions: dimensions,
            Metrics: [...counts.keys()].map((name) => ({ Name: name, Unit: 'Count' })),
          },
        ],
      },
      ...(record.plan !== undefined && { [planDimension]: record.plan }),
      ...Object.fromEntries(counts),
    }),
  });
}

const deepestCause = 4;

/** Only what is known to be safe to log: other properties of an error may hold a request with its headers. */
function describe(fault: unknown, depth = 0): unknown {
  if (!(fault instanceof Error)) return { message: String(fault) };
  return {
    name: fault.name,
    message: fault.message,
    stack: fault.stack,
    ...(fault.cause !== undefined && depth < deepestCause && { cause: describe(fault.cause, depth + 1) }),
  };
}

/** Gathers what happens while a request is served. */
export class Recorder {
  readonly #faults: unknown[] = [];
  readonly #counts = new Map<Metric, number>();

  count(metric: Metric): void {
    this.#counts.set(metric, (this.#counts.get(metric) ?? 0) + 1);
  }

  /** Notes a fault of ours. The request may have been answered all the same. */
  fault(error: unknown): void {
    this.#faults.push(error);
  }

  get faults(): readonly unknown[] {
    return this.#faults;
  }

  get counts(): ReadonlyMap<Metric, number> {
    return this.#counts;
  }
}
