import type { Fate, Fault } from './faults.ts';
import type { Call } from './call.ts';
import type { Network, RequestHandler } from './network.ts';
import type { Service } from './services.ts';
import type { TableDefinition } from './tables/schema.ts';
import type { Tables } from './tables/tables.ts';
import type { World } from './world.ts';

/** What an option is that is not given. */
export const defaults = { delays: 2, requestTimeout: 1_000 } as const;

/** What is made anew for each schedule. */
export interface Simulation {
  readonly world: World;
  readonly network: Network;
  readonly tables: Tables;
}

/** What a request gets: an execution environment of its own. */
export interface Environment<Shared = unknown> {
  /** Its name in traces. */
  readonly name: string;
  readonly world: World;
  readonly shared: Shared;
  /** Runs the section that a lock guards, for the check `lock`. */
  readonly inside: <Result>(section: () => Promise<Result>) => Promise<Result>;
  /** For clients of the SDK: `new DynamoDBClient(environment.client)`. It does not let them sign their calls, which takes time. */
  readonly client: ClientOptions;
  /** The same for another service: `new APIGatewayClient(environment.clientOf('apigateway'))`. */
  readonly clientOf: (service: string) => ClientOptions;
}

interface ClientOptions {
  readonly region: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly requestHandler: RequestHandler;
}

export type Request<Shared = unknown> = (environment: Environment<Shared>) => Promise<unknown>;

/** What a request came to. `crashed`: its process has ended before. */
export type Outcome =
  | { readonly status: 'fulfilled'; readonly value: unknown }
  | { readonly status: 'rejected'; readonly reason: unknown }
  | { readonly status: 'crashed' };

/** A schedule that has been run. */
export interface History<Shared = unknown> {
  /** Of the requests, then of those afterwards. */
  readonly outcomes: readonly Outcome[];
  readonly tables: Tables;
  readonly shared: Shared;
  /** In the order in which they met their fates. */
  readonly calls: readonly Call[];
  /** How many there were. */
  readonly faults: number;
  /** Those that have happened. */
  readonly events: readonly string[];
  /** The first requests that were in their sections at the same time. */
  readonly together: readonly string[];
}

export interface Options<Shared = unknown> {
  readonly tables: readonly TableDefinition[];
  /** What is stored before, as the document client takes it. By table. */
  readonly items?: Readonly<Record<string, readonly object[]>>;
  /** Makes what requests have in common, for each schedule. */
  readonly shared?: (simulation: Simulation) => Shared;
  /**
   * A step that uses what is shared names it: `tables.footprint.add('cache', 'write')`, or `'read'`. Default: false, so that every
   * step depends on every other one, because each can use it
   */
  readonly namesShared?: boolean;
  /** Makes the other services of AWS that requests call, for each schedule. By name, as in their host names: `apigateway`, `sqs`. */
  readonly services?: (
    simulation: Simulation & { readonly shared: Shared },
  ) => Readonly<Record<string, Service>>;
  /** Run at the same time, each in an environment of its own. */
  readonly requests: readonly Request<Shared>[];
  /** Run after all others, one after the other and without faults. */
  readonly afterwards?: readonly Request<Shared>[];
  /** What else happens, by name: each at most once, before any open call is answered. */
  readonly events?: Readonly<Record<string, (simulation: Simulation & { readonly shared: Shared }) => void>>;
  /**
   * What is wrong, in one sentence, or undefined. An error that it throws is wrong, too. Default: the result is wrong if it is not
   * serializable: if no order of the requests, one after the other and without faults, gives the same outcomes and items. A request
   * that failed may have happened or not if there was a fault. Values that are random or of the time are equal to others like them.
   */
  readonly check?: (history: History<Shared>) => string | undefined | Promise<string | undefined>;
  /** Faults in a schedule at most. Default: 0 */
  readonly faults?: number;
  /** Faults that calls can meet. Default: the usual ones. In a run that deepens: all of AWS, so not `unreadable` */
  readonly kinds?: readonly Fault[];
  /** How many calls at most are answered only after a timer has gone off. Default: 2 */
  readonly delays?: number;
  /** Default: 2026-01-01T00:00:00Z */
  readonly startsAt?: number | string;
  /** Milliseconds that a client waits for an answer, and so the longest delay. More for a lease: it has to end before. Default: 1,000 */
  readonly requestTimeout?: number;
  /** Schedules at most. Default: 100,000 */
  readonly budget?: number;
  /** Runs schedules at random instead, as many as the budget. */
  readonly seed?: number;
  /**
   * Leaves out schedules that differ from another one only in the order of steps that are independent: that touch no common item, or
   * only read it. Default: true
   */
  readonly reduce?: boolean;
  /**
   * Milliseconds to spend. Without `faults`, the run deepens by itself: all schedules without a fault, then all with at most one, then
   * with at most two, then some at random until the time is over. It ends with the first of these that fails. With
   * `faults`, it ends the run. Default: no end
   */
  readonly time?: number;
  /** Ends the run. The report then says that these were not all schedules. */
  readonly signal?: AbortSignal;
  /** `verify` also accepts that not all schedules were run; of a run that deepens, not all without a fault. Default: false */
  readonly partial?: boolean;
  /** Runs only the schedule of a failure. One such as `1:0.3` is of the level with at most one fault of a run that deepened. */
  readonly repeat?: string;
}

export interface Failure {
  readonly sentence: string;
  /** Call by call. */
  readonly trace: readonly string[];
  /**
   * What calls met, in order, to make the same happen elsewhere. `arrives`: a call that its client has given up. `item`, `left`:
   * DynamoDB gets to the next item of a batch before it answers, or leaves it out. `resumes`: the pause before the call ends.
   * `applied`, `told`: DynamoDB applies the call, and the answer arrives.
   */
  readonly steps: readonly {
    readonly sender: string;
    readonly operation: string;
    readonly fate: Fate | 'arrives' | 'item' | 'left' | 'resumes' | 'applied' | 'told';
  }[];
  /** For the option `repeat`. */
  readonly repeat: string;
}

/** Schedules of a run. */
export interface Level {
  /** Faults in a schedule at most. */
  readonly faults: number;
  readonly schedules: number;
  /** Whether these were all. */
  readonly isComplete: boolean;
}

export interface Report {
  readonly schedules: number;
  /** Schedules that failed. */
  readonly violations: number;
  /** Whether all schedules within the `bounds` were run. */
  readonly isComplete: boolean;
  /** Of a run that deepens, each that it has come to. Its `bounds` are those of the last one that is complete. */
  readonly levels: readonly Level[];
  /** How many schedules were chosen at random. */
  readonly random: number;
  /**
   * What the schedules do not go beyond, such as `no fault and at most 2 delays, calls of at most 1 s`, and what these requests could
   * meet on AWS and do in no schedule.
   */
  readonly bounds: string;
  readonly perSecond: number;
  /** A call that a request repeats without a pause while another call waits, so that there is no end of schedules. */
  readonly cut: string | undefined;
  /** With the fewest faults and then the fewest steps of those that were run. */
  readonly failure: Failure | undefined;
  /** The same for each sentence, the shortest first. */
  readonly failures: readonly Failure[];
}
