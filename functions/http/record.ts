import type { Middleware } from './exchange.ts';
import { Recorder, toLogLine } from './telemetry.ts';

export interface RecordOptions {
  readonly operation: string;
  /** Namespace of the metrics. */
  readonly namespace: string;
  readonly write: (line: string) => void;
}

/** Writes one line for each request, when its answer stands. Outermost, so that it sees what the client will see. */
export function record({ operation, namespace, write }: RecordOptions): Middleware {
  let coldStart = true;
  const startedAt = new WeakMap<Recorder, number>();

  const conclude: NonNullable<Middleware['after']> = ({ response, internal }) => {
    const { recorder, exchange } = internal;
    const line = toLogLine(
      {
        requestId: exchange?.request.requestId,
        operation,
        status: response?.statusCode ?? 500,
        durationMs: performance.now() - (startedAt.get(recorder) ?? Number.NaN),
        coldStart,
        keyId: exchange?.request.caller.keyId,
        plan: exchange?.request.caller.plan,
        faults: recorder.faults,
        counts: recorder.counts,
      },
      namespace,
      Date.now(),
    );
    coldStart = false;
    write(line);
  };

  return {
    before: ({ internal }) => {
      internal.recorder = new Recorder();
      startedAt.set(internal.recorder, performance.now());
    },
    after: conclude,
    onError: conclude,
  };
}
