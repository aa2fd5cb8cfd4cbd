import type { ProcessorModel } from '../harness/lambda.ts';

/** What an operation of the service takes, relative to a peer. */
export interface Ratio {
  readonly operation: 'list' | 'create with Idempotency-Key' | 'get' | 'authorize';
  /** `parts` does the same work, `bare handler` only sends the same calls. */
  readonly peer: 'parts' | 'bare handler';
  /** Processor time of a warm request, or the first response of a new environment in a model. */
  readonly measure: 'warm' | ProcessorModel;
  /** The median over pairs that were measured one after the other. */
  readonly value: number;
}
