import { PassThrough, Writable } from 'node:stream';
import type { GetItemCommandOutput } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import {
  answerApiGateway,
  answerCloudFormation,
  answerSts,
  type ApiKeySnapshot,
  ApiKeyStore,
  type HttpResponse,
  type ManagementRequest,
} from 'cdk-offline/management';
import {
  type Call,
  explore as exploreSchedules,
  type Fate,
  type Fault,
  type Item,
  refusal,
  type Service,
  type Simulation,
  type Tables,
  textOf,
} from 'dynamodb-interleavings';
import { Bundle, Network, Random, settled, World as Time } from 'dynamodb-interleavings/simulation';
import { inject, onTestFinished, TestRunner } from 'vitest';
import { hashOfKey, newKey } from '../../functions/access/keys.ts';
import { fixedPlans, type Limits, planNames } from '../../functions/access/plans.ts';
import { type TableName, tableNames } from '../../functions/tables.ts';
import { bundleOptions } from '../../lib/bundler/bundle.ts';
import { titleCase } from '../../lib/title-case.ts';
import type { RunTool } from '../../tools/operators/command-line/program.ts';
import { Recording, replay } from '../deployed/replay.ts';
import { Gateway, type Invocation, type Sent } from './simulation/gateway.ts';
import { check } from './simulation/model.ts';
import { type Key as KeyOfModel, Violation } from './simulation/seen.ts';
import type { Reply } from '../support/lambda.ts';
import { serviceTables, tableDefinitions } from '../support/table-shapes.ts';
import { type Evaluations, noteEvaluations } from './evaluations.ts';
import type { Usage } from './limits.model.ts';

export interface Answer extends Reply {
  /** Of an error. */
  readonly code: string | undefined;
  /** The line that the function has logged. */
  readonly log: Readonly<Record<string, unknown>>;
  /** The calls of DynamoDB that the function has made, and what they met. */
  readonly calls: readonly Call[];
  /** If its answer was not in API Gateway's cache. */
  readonly authorizer: Invocation | undefined;
}

export interface Key extends KeyOfModel {
  /** Its item in RateLimits. */
  get usage(): Readonly<Record<string, unknown>>;
  set usage(item: object);
}

export interface Run {
  readonly command: string;
  /** Undefined: it runs, or its process has crashed. */
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** Of AWS, and what they met. */
  readonly calls: readonly Call[];
}

/** What a command is run in. Without `typed` nobody is there to answer a question. */
interface Terminal {
  /** What standard input has. With `typed`: somebody types it, then Ctrl-D. */
  readonly piped?: string;
  /** An answer to each question, such as `y\n`. After them, somebody closes the input (Ctrl-D). */
  readonly typed?: readonly string[];
  /** Nobody reads standard output any more. */
  readonly failsToWrite?: boolean;
  /** `--stage local` is not added. */
  readonly stage?: 'as written';
}

type More = Partial<Omit<Sent, 'method' | 'path' | 'token'>>;

interface WorldOptions {
  /** Default: the time of `from`, or noon. */
  readonly at?: string | undefined;
  /** Whether everything that the interface promises has to hold when the test ends. */
  readonly isChecked?: boolean;
  /** What is stored before. */
  readonly from?: World | undefined;
  /** Of a schedule of `explore`, which decides what happens next. */
  readonly within?: Simulation;
}

/**
 * The service: its functions and commands as they are bundled, on tables in memory, behind one gateway, in virtual time. Nothing
 * happens by itself: a request or command runs to its end, or as far as `explore` lets it.
 */
export class World {
  readonly tables;
  readonly keys: Key[] = [];
  /** In the order in which they began. */
  readonly runs: Run[] = [];
  /** Of the deployed stack. */
  outputs: Readonly<Record<string, string>> = outputs;
  /** API Gateway's keys and usage plans, which commands change. */
  readonly apiKeys: KeysOfWorld;
  /** What a call meets. Until that is known, time stands still. @param number of the call in its request or command, from 1 */
  meets: (call: Call, number: number) => Fate | Promise<Fate> = () => 'answered';
  /** What functions draw, in [0, 1). */
  random: () => number;
  readonly #time: Time;
  readonly #network: Network;
  readonly #below: (below: number) => number;
  readonly #isDriven: boolean;
  readonly #evaluations: Evaluations;
  #gateway: Gateway | undefined;
  /** Calls whose fate is not known yet. */
  #held = 0;

  constructor({ at, isChecked = true, from, within }: WorldOptions = {}) {
    this.#isDriven = within === undefined;
    this.#time = within?.world ?? new Time(startOf(at, from) + 999, () => 0);
    this.tables = within?.tables ?? serviceTables(() => this.#time.now);
    const random = new Random(this.#time.now);
    this.random = random.next;
    this.#below = (below) => random.below(below);
    this.#network =
      within?.network ??
      new Network(this.#time, this.tables, (call, network) => {
        const meet = (fate: Fate) => {
          call.fate = fate;
          void network.meet(call)();
        };
        // Such as `12.1`, the first call of request 12.
        const fate = this.meets(call, Number(/[.a](\d+)$/.exec(call.name)?.[1]));
        if (typeof fate === 'string') meet(fate);
        else {
          this.#held += 1;
          void fate.then(meet).finally(() => (this.#held -= 1));
        }
      });
    this.#evaluations = noteEvaluations(this.tables);
    // What a hook stores before tests is what they begin with.
    if (this.#isDriven && isReplayed() && TestRunner.getCurrentTest() !== undefined) {
      const recording = new Recording(this.tables);
      onTestFinished(() => replay(recording));
    }
    this.apiKeys = new KeysOfWorld(this.#time, from?.apiKeys.snapshot());
    for (const table of tableNames.map((name) => titleCase(name)))
      for (const versions of from?.tables.versions(table) ?? []) {
        const { item } = versions.at(-1)!;
        if (item !== undefined) this.tables.put(table, item);
      }
    const gatewayState = {
      keys: this.apiKeys,
      restApiId: place.apiId,
      stage: place.stage,
      flushAuthorizerCache: () => this.#open().flushAuthorizerCache(),
      save: async () => {},
    };
    this.#network.serve(
      'apigateway',
      gatewayOf(this.apiKeys, this.tables, (request) => answerApiGateway(gatewayState, request)),
    );
    this.#network.serve(
      'cloudformation',
      // A command changes nothing there.
      { ...serviceOf((request) => answerCloudFormation(this.#stackOf(request), request)), uses: () => ({}) },
    );
    this.#network.serve(
      'sts',
      serviceOf((request) => answerSts(request)),
    );
    const plan = { description: undefined, throttle: undefined, quota: undefined, apiStages: [place] };
    this.apiKeys.setPlans(planNames.map((name) => ({ id: name, name, ...plan })));
    if (isChecked && this.#isDriven) onTestFinished(() => this.check());
  }

  /** Whole Unix seconds. It is always the last millisecond of a second, which whole seconds must not round up. */
  get now(): number {
    return Math.floor(this.#time.now / 1000);
  }
  /** Nothing happens in between. Functions whose clocks differ see it change in both directions. */
  set now(seconds: number) {
    this.#time.now = seconds * 1_000 + 999;
  }

  wait(seconds: number): void {
    this.now += seconds;
  }

  /** Stores an item as if it had always been there. */
  put(table: TableName, item: object): void {
    this.tables.put(titleCase(table), marshall(item, { removeUndefinedValues: true }) as Item);
  }

  /** A valid key. @param usage what is stored of it. @param more other attributes of its record, such as `expiresAt` */
  key(
    plan: Limits | keyof typeof fixedPlans,
    usage: Partial<Usage> = {},
    more: Readonly<Record<string, string | number>> = {},
  ): Key {
    const token = newKey('local', this.#below);
    const keyHash = hashOfKey(token);
    const number = this.keys.length + 1;
    const [name, own] = typeof plan === 'string' ? [plan, {}] : (['enterprise', plan] as const);
    const limits = typeof plan === 'string' ? fixedPlans[plan] : plan;
    this.put('apiKeys', { keyHash, keyId: `key_${number}`, status: 'active', plan: name, ...own, ...more });
    const { id } = this.apiKeys.create({ value: keyHash, enabled: true });
    this.apiKeys.bind(name, id);
    const read = () => {
      const input = { TableName: 'RateLimits', Key: marshall({ keyHash }) };
      const { Item: item = {} } = this.tables.call('GetItem', input) as GetItemCommandOutput;
      return unmarshall(item);
    };
    const write = (item: object) => this.put('rateLimits', { ...item, keyHash });
    const key: Key = {
      name: `key ${number}`,
      plan: name,
      token,
      keyHash,
      ...limits,
      expiresAt: 1_000 * Number(more['expiresAt'] ?? 0),
      revokedAt: Infinity,
      suspensions:
        usage.suspendedUntil === undefined ? [] : [{ from: 0, until: usage.suspendedUntil * 1_000 }],
      before: { minute: 0, minuteCount: 0, day: 0, dayCount: 0, ...usage },
      get usage() {
        return read();
      },
      set usage(item) {
        write(item);
      },
    };
    if (Object.keys(usage).length > 0) key.usage = usage;
    this.keys.push(key);
    return key;
  }

  /** @param key or the text of one, as a command has printed it. @param request such as `GET /pets?limit=1` */
  async send(key: Key | string, request = 'GET /nowhere', more: More = {}): Promise<Answer> {
    const [answer] = await this.sendAll(1, key, request, more);
    return answer!;
  }

  /** So many at the same time. */
  async sendAll(
    count: number,
    key: Key | string,
    request = 'GET /nowhere',
    more: More = {},
  ): Promise<Answer[]> {
    const [method, target = ''] = request.split(' ');
    const [path = '', search] = target.split('?');
    const token = typeof key === 'string' ? key : key.token;
    const sent = {
      method: method as Sent['method'],
      path,
      query: [...new URLSearchParams(search)],
      token,
      ...more,
    };
    const gateway = this.#open();
    const exchanges = await this.#drive(Promise.all(Array.from({ length: count }, () => gateway.send(sent))));
    return exchanges.map(({ answer, operation, authorizer }) => ({
      ...(answer.headers === undefined ? { ...answer, headers: {}, text: '', body: undefined } : answer),
      code: answer.headers && (answer.body as { readonly code?: string } | undefined)?.code,
      log: JSON.parse(operation?.log[0] ?? '{}') as Answer['log'],
      calls: operation?.calls ?? [],
      authorizer,
    }));
  }

  /** Runs a command, such as `keys rotate key_1 --json`, of the stage local unless it names another one. */
  async run(command: string, { piped = '', typed, failsToWrite, stage: given }: Terminal = {}): Promise<Run> {
    const [tool, ...args] = command.trim().split(/ +/);
    const answers = [...(typed ?? [])];
    const stdin = new PassThrough();
    if (typed === undefined || piped !== '') stdin.end(piped);
    const out = collector(failsToWrite);
    const err = collector();
    err.stream.on('asked', () => {
      const answer = answers.shift();
      if (answer === undefined) stdin.end();
      else stdin.write(answer);
    });
    const calls: Call[] = [];
    const name = (call: Call) => {
      calls.push(call);
      call.name = `${command}.${calls.length}`;
    };
    const run = {
      command,
      calls,
      exitCode: undefined as number | undefined,
      get stdout() {
        return out.text();
      },
      get stderr() {
        return err.text();
      },
    };
    this.runs.push(run);
    const [runTool] = Object.values(
      (await commands()).start(tool!, {
        world: this.#time,
        clockOffset: 0,
        random: () => this.random(),
        variables: credentials,
        requestHandler: this.#network.handlerFor(command, name, Infinity),
      }),
    );
    const io = { stdin, stdout: out.stream, stderr: err.stream, interactive: typed !== undefined };
    const hooks = { local, clock: () => this.#time.now };
    const stage = given !== undefined || args.includes('--stage') ? [] : ['--stage', 'local'];
    const ended = (runTool as RunTool)([...args, ...stage], io, hooks);
    run.exitCode = await this.#drive(ended);
    return run;
  }

  /** @throws Violation of what the interface promises */
  check(): void {
    check({
      exchanges: this.#open().exchanges,
      keys: this.keys,
      tables: this.tables,
      evaluations: this.#evaluations,
      lag: 0,
      shortQueries: false,
      events: [],
    });
  }

  /** Every stage is there, and has the same tables. */
  #stackOf({ body }: ManagementRequest) {
    const name = new URLSearchParams(body.toString()).get('StackName') ?? '';
    return { name, id: 'id', createdAt: 0, outputs: this.outputs };
  }

  #open(): Gateway {
    this.#gateway ??= new Gateway({
      world: this.#time,
      network: this.#network,
      stage: 'local',
      machine: () => ({ random: () => this.random() }),
      hasGatewayKey: (value) => this.#admits(value),
      ...(!this.#isDriven && { authorized: this.#passed() }),
    });
    return this.#gateway;
  }

  #admits(value: string): boolean {
    return this.apiKeys.meter(value, place, this.#time.now).outcome !== 'invalid';
  }

  /** In a schedule, the authorizer has let every key pass before. */
  #passed() {
    return Object.fromEntries(
      this.keys.map(({ token, keyHash, perMinute, perDay, expiresAt }) => [
        token,
        {
          keyHash,
          keyId: 'key_1',
          plan: 'enterprise' as const,
          perMinute,
          perDay,
          expiresAt: expiresAt / 1_000,
        },
      ]),
    );
  }

  async #drive<T>(work: Promise<T>): Promise<T> {
    if (!this.#isDriven) return work;
    const progress = { isDone: false };
    const done = work.finally(() => (progress.isDone = true));
    // Streams and modules of a command take turns of their own.
    await settled();
    for (let idleSince = Infinity; !progress.isDone; await settled()) {
      if (this.#held === 0 && this.#time.step()) idleSince = Infinity;
      else idleSince = Math.min(idleSince, performance.now());
      if (performance.now() - idleSince > 5_000) throw new Error('It never ends');
    }
    return done;
  }
}

let made = 0;

/** Made at the time of the world, not of this machine, with IDs in the order in which they were made. */
class KeysOfWorld extends ApiKeyStore {
  readonly #time: Time;

  constructor(time: Time, snapshot?: ApiKeySnapshot) {
    super(snapshot);
    this.#time = time;
  }

  override create(given: Parameters<ApiKeyStore['create']>[0]): ReturnType<ApiKeyStore['create']> {
    made += 1;
    return super.create({ id: String(made).padStart(10, '0'), ...given }, this.#time.now);
  }
}

/** Whether a real engine has to answer as the tables in memory: in the project `engine`. */
export function isReplayed(): boolean {
  return inject('dynamodbEndpoint') !== undefined;
}

/** Milliseconds. */
function startOf(at: string | undefined, from: World | undefined): number {
  return at === undefined && from ? from.now * 1_000 : Date.parse(at ?? '2026-07-01T12:00:00Z');
}

/** A service of cdk-offline, for the network. */
function serviceOf(answer: (request: ManagementRequest) => HttpResponse | Promise<HttpResponse>): Service {
  return {
    answer: async ({ query, body, ...request }) => {
      const parameters = Object.entries(query).flatMap(([name, value]) =>
        [value ?? ''].flat().map((each) => [name, each] as [string, string]),
      );
      const asked = { ...request, query: new URLSearchParams(parameters), body: Buffer.from(body) };
      const { status, headers, body: answered } = await answer(asked);
      return {
        statusCode: status,
        headers: Object.fromEntries(headers),
        body: answered.toString(),
      };
    },
  };
}

/** Its keys are parts of their own: only calls about the same one, or about all, are run in both orders. */
function gatewayOf(keys: ApiKeyStore, tables: Tables, answer: Parameters<typeof serviceOf>[0]): Service {
  const { answer: answerAll } = serviceOf(answer);
  const valueOf = (id: string) => keys.keys().find((key) => key.id === id)?.value ?? id;
  return {
    uses: ({ method, path, body }) => {
      const access = method === 'GET' ? 'read' : 'write';
      if (path.endsWith('/authorizers')) return { cache: access };
      const { value, keyId } = JSON.parse(body || '{}') as {
        readonly value?: string;
        readonly keyId?: string;
      };
      const id = keyId ?? /\/(?:api)?keys\/(\w+)$/.exec(path)?.[1];
      return { [value ?? (id === undefined ? 'keys' : valueOf(id))]: access };
    },
    answer: (request) => {
      if (request.method !== 'GET') tables.footprint.add('apigateway keys', 'mark');
      return answerAll(request);
    },
    refusals: {
      conflict: refusal(
        409,
        'ConflictException',
        'Unable to complete operation due to concurrent modification. Please try again later.',
      ),
    },
  };
}

const place = { apiId: 'api', stage: 'v1' };
const outputs = {
  RestApiId: place.apiId,
  ...Object.fromEntries(tableNames.map((name) => [`${titleCase(name)}TableName`, titleCase(name)] as const)),
  ...Object.fromEntries(planNames.map((name) => [`UsagePlanId${titleCase(name)}`, name])),
};
const local = {
  endpoint: 'http://127.0.0.1:1',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local', sessionToken: 'local' },
};
const credentials = { AWS_REGION: 'eu-central-1', AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' };

let built: Promise<Bundle> | undefined;

/** The commands, each run with its own clock, network and random numbers. Built when the first one is run. */
function commands(): Promise<Bundle> {
  const { target, mainFields } = bundleOptions('');
  built ??= Bundle.build({
    entryPoints: { keys: 'tools/operators/keys/cli.ts', pets: 'tools/operators/pets/cli.ts' },
    esbuild: {
      target,
      mainFields: [...mainFields],
      logLevel: 'silent',
      define: { 'import.meta.dirname': JSON.stringify(import.meta.dirname) },
    },
  });
  return built;
}

/** It emits `asked` when a question was written. */
function collector(failsToWrite = false) {
  let text = '';
  const stream: Writable = new Writable({
    write: (chunk, _encoding, done) => {
      if (failsToWrite) return done(new Error('EPIPE'));
      text += String(chunk);
      done();
      if (text.endsWith('[y/N] ')) stream.emit('asked');
      return undefined;
    },
  });
  stream.on('error', () => {});
  return { stream, text: () => text };
}

type Step<Given> = (world: World, given: Given) => Promise<unknown>;

export interface Scene<Given> {
  readonly at?: string;
  readonly from?: World;
  /** What there is before, such as keys. */
  readonly given?: (world: World) => Given;
  /** At the same time. The same function twice: they can change places. */
  readonly steps: readonly Step<Given>[];
  /** One after the other, when all others have ended. */
  readonly afterwards?: readonly Step<Given>[];
  /** What else happens, each at most once and at any time. */
  readonly events?: Readonly<Record<string, (world: World, given: Given) => void>>;
  readonly faults?: number;
  readonly kinds?: readonly Fault[];
  /** Whether everything that the interface promises has to hold in the end. Only of keys that the world has made. */
  readonly isChecked?: boolean;
  /** What holds in the end, too. */
  readonly check?: (world: World, given: Given) => void;
}

/**
 * Runs the steps in every order of their calls and with every fate of each.
 *
 * @returns the number of schedules
 * @throws Error with the story of the shortest one that is wrong
 */
export async function explore<Given>(scene: Scene<Given>): Promise<number> {
  const { at, from, given, steps, afterwards = [], events = {}, faults = 0, kinds, isChecked = true } = scene;
  // Nothing is replayed of schedules.
  if (isReplayed()) TestRunner.getCurrentTest()?.context.skip('It has no part on a real engine');
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
    tables: tableDefinitions.map((each) => ({ ...each, BillingMode: 'PAY_PER_REQUEST' as const })),
    startsAt: startOf(at, from),
    shared: (simulation) => {
      // Retries of the SDK do not wait.
      simulation.world.random = () => 0;
      const world = new World({ from, within: simulation });
      return { world, of: given?.(world) as Given };
    },
    // Nothing but the idle environments of the gateway, which names them, and API Gateway's keys.
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
    delays: Infinity,
  });
  if (report.failure || !report.isComplete) throw new Error(textOf(report));
  return report.schedules;
}
