import { explore as exploreSchedules, type Fault, textOf } from 'dynamodb-interleavings';
import type { SimulatedGatewayOptions } from './simulation/gateway.ts';
import { Violation } from './simulation/seen.ts';
import { howToRepeat } from '../support/how-to-repeat.ts';
import { tableShapes } from '../support/table-shapes.ts';
import { startOf, World } from './world.ts';

export type Step<Given> = (world: World, given: Given) => Promise<unknown>;

export interface Scene<Given> {
  readonly at?: string;
  readonly from?: World;
  /** What there is before, such as keys. What commands make is in `from`, because this cannot wait. */
  readonly given?: (world: World) => Given;
  /** Steps that run at the same time. Two that are the same function can change places. A command that fails is no failure: see `world.runs`. */
  readonly steps: readonly Step<Given>[];
  /** Steps that run one after the other, when all others have ended. */
  readonly afterwards?: readonly Step<Given>[];
  /** Events that happen, each at most once and at any time. */
  readonly events?: Readonly<Record<string, (world: World, given: Given) => void>>;
  readonly faults?: number;
  readonly kinds?: readonly Fault[];
  /** How many calls can be answered late. Default: all. */
  readonly delays?: number;
  /** Whether everything that the interface promises has to hold in the end. Only of keys that the world has made. */
  readonly isChecked?: boolean;
  /** Checks what else holds in the end. */
  readonly check?: (world: World, given: Given) => void;
  /** What the execution environments of a schedule have. */
  readonly machine?: () => SimulatedGatewayOptions['machine'];
  /** How many schedules run at random, instead of all of them. */
  readonly sample?: number;
  /**
   * Leaves out schedules that differ only in the order of independent steps. Default: true. What steps share outside of the tables must be in
   * `tables.footprint`.
   */
  readonly reduce?: boolean;
}

/**
 * Runs the steps in every order of their calls and with every fate of each.
 *
 * @returns the number of schedules
 * @throws Error with the story of the shortest one that is wrong
 */
export async function explore<Given>(scene: Scene<Given>): Promise<number> {
  const {
    at,
    from,
    given,
    steps,
    afterwards = [],
    events = {},
    faults = 0,
    kinds,
    delays = Infinity,
    isChecked = true,
    machine,
    sample,
    reduce = true,
  } = scene;
  const { REPEAT: repeat } = process.env;
  interface Shared {
    readonly world: World;
    readonly of: Given;
  }
  const requests = new Map(
    [...steps, ...afterwards].map((step) => [
      step,
      async ({ shared }: { readonly shared: Shared }) => void (await step(shared.world, shared.of)),
    ]),
  );
  const requestOf = (step: Step<Given>) => requests.get(step)!;
  const report = await exploreSchedules<Shared>({
    tables: tableShapes.map((each) => ({ ...each, BillingMode: 'PAY_PER_REQUEST' as const })),
    startsAt: startOf(at, from),
    shared: (simulation) => {
      // Retries of the SDK do not wait.
      simulation.world.random = () => 0;
      const world = new World({ from, within: simulation, machine: machine?.() });
      return { world, of: given?.(world) as Given };
    },
    // They share nothing but the idle environments of the gateway, which names them, and API Gateway's keys.
    namesShared: true,
    requests: steps.map(requestOf),
    afterwards: afterwards.map(requestOf),
    events: Object.fromEntries(
      Object.entries(events).map(([name, event]) => [
        name,
        ({ shared }: { readonly shared: Shared }) => event(shared.world, shared.of),
      ]),
    ),
    check: ({ shared: { world, of }, outcomes }) => {
      for (const outcome of outcomes) if (outcome.status === 'rejected') return String(outcome.reason);
      try {
        if (isChecked) world.check();
        scene.check?.(world, of);
        return undefined;
      } catch (error) {
        return error instanceof Violation ? error.message : String(error);
      }
    },
    faults,
    ...(kinds && { kinds }),
    delays,
    reduce,
    ...(sample !== undefined && { budget: sample, seed: 1 }),
    ...(repeat !== undefined && { repeat }),
  });
  if (report.failure) throw new Error(`${textOf(report)}\n${howToRepeat(`REPEAT=${report.failure.repeat}`)}`);
  if (!report.isComplete && sample === undefined && repeat === undefined)
    throw new Error(`Not all schedules were run. Use steps of fewer calls, or a sample: ${textOf(report)}`);
  return report.schedules;
}
