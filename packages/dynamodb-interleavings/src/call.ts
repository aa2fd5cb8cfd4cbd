import type { Fate } from './faults.ts';
import type { Refusal } from './tables/errors.ts';
import type { Reading } from './tables/table.ts';
import type { Timer } from './world.ts';

/** One attempt of a call. */
export interface Call {
  /** Of the environment that sends it, unless whoever observes the calls gives it a name of its own. */
  name: string;
  /** `DynamoDB`, or the name of another service. */
  readonly service: string;
  /** Such as `PutItem`, or `POST /apikeys` of another service. */
  readonly operation: string;
  /** The first one that it names. Empty for another service. */
  readonly table: string;
  /** As in the JSON of DynamoDB's protocol. For another service: its `ServiceRequest`. */
  readonly input: object;
  readonly sentAt: number;
  /** Its stack says where it was made. */
  readonly origin: Error;
  /** When its client stops waiting for it. */
  deadline: number;
  timeout?: Timer;
  fate?: Fate;
  /** In [0, 1): which of the answers that a fault can have. */
  variant: number;
  /** Milliseconds until DynamoDB applies it, and until its answer arrives. */
  latency?: readonly [number, number];
  /** Whether DynamoDB has applied it. */
  applied: boolean;
  /** Items of a batch that DynamoDB has got to, and what came of each. */
  readonly parts: object[];
  /** Those that it has left out. */
  readonly left: Set<number>;
  /** The client waits for it no more. */
  ended: boolean;
  endedAt?: number;
  /** What came back. */
  outcome?: string;
  /** Whether the client knows what DynamoDB did. */
  received: boolean;
  readonly answer: (response: object) => void;
  readonly fail: (error: Error) => void;
  /** Its client begins to wait for it. */
  readonly await: () => void;
}

/** An answer on its way. */
export interface Reply {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** What answers calls. */
export interface Server {
  readonly isRead: (call: Call) => boolean;
  /** Whether it would change something if it got a call. */
  readonly writes: (call: Call) => boolean;
  /** In how many ways a call can meet a fate in which it is not answered all the same. `Call.variant` says which. */
  readonly ways: (fate: Fate, call: Call) => number;
  /** Whether DynamoDB gets to an item of a batch and then to others. */
  readonly hasMore?: (call: Call) => boolean;
  /** Whether only the next item of a batch is left out, and not all others. */
  readonly leavesOne?: (call: Call) => boolean;
  /** Gets to the next item of a batch. @param isLeft it leaves it out */
  readonly advance?: (call: Call, isLeft: boolean) => void;
  readonly apply: (call: Call, reading?: Reading) => Reply | Promise<Reply>;
  readonly refuse: (
    call: Call,
    fate: 'failed' | 'throttled' | 'denied' | 'conflict',
    given?: Refusal,
  ) => Reply;
}

/** Which of so many ways a call meets its fate in. */
export function wayOf({ variant }: Pick<Call, 'variant'>, ways: number): number {
  return Math.min(ways - 1, Math.floor(variant * ways));
}
