import type { Fault } from 'dynamodb-interleavings';
import type { Limits } from '../../../functions/access/plans.ts';
import { explore, type Scene, type Step } from '../explore.ts';
import type { Usage } from '../limits.model.ts';
import type { Key, World } from '../world.ts';
import type { Version } from './environments.ts';
import type { Sent, SimulatedGatewayOptions } from './gateway.ts';

/** A few requests with one key at the same time. */
export interface RequestScene extends Pick<Scene<Key>, 'delays' | 'kinds' | 'reduce' | 'sample'> {
  /** Unix seconds. */
  readonly now: number;
  readonly limits: Limits;
  readonly usage?: Partial<Usage>;
  readonly requests: readonly (Omit<Sent, 'token'> & {
    /** Milliseconds until it is sent. In this order. */
    readonly after?: number;
  })[];
  /** Requests after all others, one after the other and without faults. */
  readonly afterwards?: readonly Omit<Sent, 'token'>[];
  /** Until when an operator suspends the key meanwhile. Unix seconds. */
  readonly suspendedUntil?: number;
  readonly maxFaults: number;
  /** Gets all answers and what is stored, of each schedule. */
  readonly results?: Set<string>;
  /** The version of the execution environment of each request. Default: the work tree. */
  readonly versions?: readonly Version[];
}

const allKinds: readonly Fault[] = [
  'lostBefore',
  'lostAfter',
  'hungAfter',
  'unreadableAfter',
  'throttled',
  'conflict',
  'denied',
];

/**
 * Runs the requests in every order of their calls, and with every fate of each call, up to a number of faults; or a sample of that.
 *
 * @returns the number of schedules
 * @throws Error with the story of the shortest schedule that violates the interface
 */
export function exploreRequests(scene: RequestScene): Promise<number> {
  const { now, limits, usage, requests, afterwards = [], suspendedUntil, maxFaults, ...others } = scene;
  const { kinds = allKinds, versions = [], results, ...same } = others;
  // No transaction writes the table of the limiter.
  const conflicts = requests.some(({ method }) => method === 'POST');
  // Equal requests of one version are one function, so that they can change places.
  const steps = new Map<string, Step<Key>>();
  const stepOf = (each: RequestScene['requests'][number], index: number) => {
    const name = JSON.stringify([each, versions[index]?.commit]);
    const step = steps.get(name) ?? stepThatSends(each);
    steps.set(name, step);
    return step;
  };
  return explore<Key>({
    ...same,
    at: new Date(now * 1000).toISOString(),
    given: (world) => world.key(limits, usage),
    steps: requests.map(stepOf),
    afterwards: afterwards.map((each) => stepThatSends({ ...each, after: 1 })),
    ...(suspendedUntil !== undefined && {
      events: { 'an operator suspends the key': (world, key) => suspend(world, key, suspendedUntil) },
    }),
    faults: maxFaults,
    kinds: kinds.filter((kind) => kind !== 'conflict' || conflicts),
    machine: () => machineOf(versions),
    check: ({ exchanges, tables }) => {
      const answers = exchanges.map(({ answer }) => ({ ...answer, body: undefined }));
      results?.add(JSON.stringify([answers, tables.contents]));
    },
  });
}

function stepThatSends({ after, method, path, ...more }: RequestScene['requests'][number]): Step<Key> {
  return async (world, key) => {
    if (after !== undefined) await world.sleep(after);
    await world.send(key, `${method} ${path}`, more);
  };
}

function machineOf(versions: readonly Version[]): SimulatedGatewayOptions['machine'] {
  let environments = 0;
  return () => {
    const environment = (environments += 1);
    let drawn = 0;
    return {
      version: versions[environment - 1],
      // The first ID is the same for all.
      random: () => (drawn++ === 0 ? 0 : ((environment * 64 + drawn) % 4096) / 4096),
    };
  };
}

/** Suspends the key as the key tool does. */
function suspend(world: World, key: Key, until: number): void {
  key.usage = { ...key.usage, suspendedUntil: until, rejections: 0 };
  key.suspensions.push({ from: world.now * 1_000, until: until * 1_000 });
}
