import type { Call } from './call.ts';
import { type Conduct, type Deed, deedOfCall, deedOfOutcome, deedOfTimer } from './conduct.ts';
import { defaults, type Options, type Outcome, type Request, type Simulation } from './options.ts';
import type { Entry } from './story.ts';
import type { RequestProcess } from './transitions.ts';
import { processes, Random } from './world.ts';

/** What a client of the SDK would look up in variables and files, or compute, for each call. It finds the defaults, as on Lambda. */
const configuration = {
  region: 'eu-central-1',
  credentials: { accessKeyId: 'simulated', secretAccessKey: 'simulated' },
  signer: { sign: (request: unknown) => Promise.resolve(request) },
  useDualstackEndpoint: false,
  useFipsEndpoint: false,
  defaultsMode: 'legacy',
  accountIdEndpointMode: () => Promise.resolve('preferred'),
  authSchemePreference: () => Promise.resolve([]),
  endpointDiscoveryEnabledProvider: () => Promise.resolve(undefined),
  userAgentAppId: () => Promise.resolve(undefined),
} as const;

export interface Settings {
  /** For random numbers. */
  readonly seed?: number;
  /** Of the requests, those afterwards included. */
  readonly names?: readonly string[];
  /** What all schedules of a run know of them. */
  readonly conduct?: Conduct | undefined;
}

/** Whose code runs. */
export const running = () => processes.getStore() as RequestProcess | undefined;

/** The requests of a schedule, each in an execution environment of its own. */
export class Requests<Shared> {
  readonly all: RequestProcess[] = [];
  /** What they do is compared with this. */
  conduct: Conduct | undefined;
  /** Of each request that has ended. */
  readonly outcomes: (Outcome | undefined)[] = [];
  /** The first ones that were in their sections at the same time. */
  together: readonly string[] = [];
  /** Calls that no request makes. */
  readonly #nobody = { name: 'nobody', calls: [] as Call[] };
  readonly #inside = new Set<RequestProcess>();
  readonly #simulation: Simulation;
  readonly #trace: Entry[];
  readonly #timeout: number;
  readonly #settings: Settings;

  constructor(
    simulation: Simulation,
    { requestTimeout = defaults.requestTimeout }: Pick<Options, 'requestTimeout'>,
    trace: Entry[],
    settings: Settings,
  ) {
    this.#simulation = simulation;
    this.#trace = trace;
    this.#timeout = requestTimeout;
    this.#settings = settings;
    this.conduct = settings.conduct;
  }

  get ended(): number {
    return this.outcomes.filter(Boolean).length;
  }

  get hasEnded(): boolean {
    return this.ended === this.outcomes.length;
  }

  /** Also one that was aborted before anything happened to it. */
  get hasCalls(): boolean {
    return [this.#nobody, ...this.all].some(({ calls }) => calls.length > 0);
  }

  start(request: Request<Shared>, shared: Shared, index = this.outcomes.length): void {
    this.outcomes[index] = undefined;
    const { seed = 1, names } = this.#settings;
    const name = names?.[index] ?? `request ${index + 1}`;
    const { world, network } = this.#simulation;
    const requestHandler = network.handlerFor(name, () => {}, this.#timeout);
    const clientOf = (service: string) => ({
      ...configuration,
      endpoint: `https://${service}.${configuration.region}.amazonaws.com`,
      requestHandler,
    });
    const random = Random.of(seed, name).next;
    const randomOfCrypto = Random.of(seed, `${name} crypto`).next;
    const past = `${name} from ${world.now}`;
    const process: RequestProcess = {
      index,
      name,
      random,
      randomOfCrypto,
      calls: [],
      ids: new Set(),
      deeds: [],
      past,
      isAwake: true,
      state: 'running',
      sets: (milliseconds) => this.#note(process, deedOfTimer(milliseconds)),
      wake: (what, call) => this.conduct?.wake(process, `${process.calls.indexOf(call as Call)} ${what}`),
    };
    this.all[index] = process;
    const end = (outcome: Outcome): void => {
      this.outcomes[index] = outcome;
      this.#note(process, deedOfOutcome(outcome));
    };
    const inside = <Result>(section: () => Promise<Result>) => this.#guard(process, section);
    const environment = { name, world, shared, inside, client: clientOf('dynamodb'), clientOf };
    processes
      .run(process, async () => request(environment))
      .then(
        (value) => end({ status: 'fulfilled', value }),
        (reason: unknown) => end({ status: 'rejected', reason }),
      );
  }

  /** Ends the process of a request. */
  crash(process: RequestProcess): void {
    this.#simulation.world.end(process);
    this.outcomes[process.index] ??= { status: 'crashed' };
  }

  /** Notes a call that is sent now. Whose it is, and its ID, which is another one if it says something else. */
  noteCall(call: Call): {
    readonly owner: RequestProcess | undefined;
    readonly name: string;
    readonly id: string;
  } {
    const owner = running();
    // It can be made with the client of another one.
    if (owner && this.all.some(({ name }) => name === call.name)) call.name = owner.name;
    const { calls, name } = owner ?? this.#nobody;
    const deed = deedOfCall(call);
    const id = `${name} call ${calls.push(call)} ${deed.key}`;
    if (owner) this.#note(owner, deed);
    return { owner, name, id };
  }

  #note(process: RequestProcess, deed: Deed): void {
    process.deeds.push(deed);
    this.conduct?.act(process, deed);
  }

  /** Runs a section in which no other process may be. One that has crashed is in none. */
  async #guard<Result>(process: RequestProcess, section: () => Promise<Result>): Promise<Result> {
    const { world, tables } = this.#simulation;
    const note = (what: string): void => {
      tables.footprint.add('sections', 'write');
      this.#trace.push({ name: process.name, at: world.now, what });
    };
    note('is inside');
    this.#inside.add(process);
    const together = [...this.#inside].filter(({ state }) => state !== 'crashed');
    if (together.length > 1 && this.together.length === 0) this.together = together.map(({ name }) => name);
    return section().finally(() => {
      note('is outside again');
      this.#inside.delete(process);
    });
  }
}
