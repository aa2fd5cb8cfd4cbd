import { fullBucket, takeToken, type Throttle } from 'cdk-offline/metering';
import { decide, decisionAfter, unused, type Usage } from '../../functions/access/limiter-decisions.ts';
import type { Limits } from '../../functions/access/plans.ts';
import { usageAfter } from './usage-model.ts';

// Many programs with one key, in virtual time. All times are milliseconds.

/** `retryAfter`: of a 429, in seconds. */
interface Answer {
  readonly retryAfter: number | undefined;
}

/** A program that sends one request after the other. */
export interface Worker {
  /** From the start to its first request. */
  readonly starts: number;
  /** From an answer to its next request. */
  next(answer: Answer): number;
}

export interface Conditions {
  readonly limits: Limits;
  /** The throttle of its usage plan. */
  readonly bucket?: Throttle | undefined;
  /** Unix milliseconds. */
  readonly start: number;
  readonly length: number;
}

/** Time goes on in steps of these. */
const tick = 20;

/** Seconds from the start until the limiter suspends the key of these workers. Undefined if it does not. */
export function suspendedAfter(
  workers: readonly Worker[],
  { limits, bucket, start, length }: Conditions,
): number | undefined {
  const due = new Map<number, Worker[]>();
  const schedule = (worker: Worker, delay: number) => {
    const at = time + tick * Math.max(1, Math.round(delay / tick));
    const others = due.get(at);
    if (others === undefined) due.set(at, [worker]);
    else others.push(worker);
  };
  let time = start;
  let usage: Usage = unused;
  let tokens = bucket && fullBucket(bucket, start);
  for (const worker of workers) schedule(worker, worker.starts);
  for (; time <= start + length; time += tick) {
    for (const worker of due.get(time) ?? []) {
      const taken = bucket && tokens && takeToken(bucket, tokens, time);
      tokens = taken?.bucket;
      if (taken?.admitted === false) {
        // API Gateway's own answer.
        schedule(worker, worker.next({ retryAfter: 60 }));
        continue;
      }
      const now = Math.floor(time / 1000);
      const transition = decide(usage, limits, now);
      usage = usageAfter(usage, transition, now);
      const decision = decisionAfter(transition, usage, limits, now);
      if (decision.kind === 'suspended') return (time - start) / 1000;
      schedule(
        worker,
        worker.next({ retryAfter: 'retryAfter' in decision ? decision.retryAfter : undefined }),
      );
    }
    due.delete(time);
  }
  return undefined;
}
