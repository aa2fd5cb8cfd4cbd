import type { GetItemCommandOutput } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import type { Call, Fate, Item, Simulation } from 'dynamodb-interleavings';
import { Network, Random, settled, World as SimulatedWorld } from 'dynamodb-interleavings/simulation';
import { onTestFinished, TestRunner } from 'vitest';
import { hashOfKey, newKey } from '../../functions/access/keys.ts';
import { fixedPlans, type Limits, planNames } from '../../functions/access/plans.ts';
import { type TableName, tableNames } from '../../functions/tables.ts';
import { titleCase } from '../../lib/title-case.ts';
import {
  answerApiGateway,
  answerCloudFormation,
  type ManagementRequest,
} from '../../tools/contributors/local/aws-services.ts';
import { RecordedCalls, replay } from '../deployed/replay.ts';
import {
  type Exchange,
  SimulatedGateway,
  type SimulatedGatewayOptions,
  type Invocation,
  type Sent,
} from './simulation/gateway.ts';
import { check } from './simulation/check.ts';
import type { Key as KeyOfModel } from './simulation/seen.ts';
import type { Reply } from '../support/lambda.ts';
import { serviceTables } from '../support/table-shapes.ts';
import { answerSts, gatewayOf, KeysOfWorld, outputs, place, serviceOf } from './account.ts';
import { newRun, type Run, type Terminal } from './commands.ts';
import { type Evaluations, noteEvaluations } from './evaluations.ts';
import type { Usage } from './limits.model.ts';

export interface Answer extends Reply {
  /** The code of an error. */
  readonly code: string | undefined;
  /** The line that the function has logged. */
  readonly log: Readonly<Record<string, unknown>>;
  /** The calls of DynamoDB that the function has made, and what they met. */
  readonly calls: readonly Call[];
  /** The invocation of the authorizer, if its answer was not in API Gateway's cache. */
  readonly authorizer: Invocation | undefined;
}

export interface Key extends KeyOfModel {
  /** Its item in RateLimits. */
  get usage(): Readonly<Record<string, unknown>>;
  set usage(item: object);
}

type More = Partial<Omit<Sent, 'method' | 'path' | 'token'>>;

interface WorldOptions {
  /** Default: the time of `from`, or noon. */
  readonly at?: string | undefined;
  /** Whether everything that the interface promises has to hold when the test ends. Only of keys that `key` has made. */
  readonly isChecked?: boolean;
  /** What is stored before. */
  readonly from?: World | undefined;
  /** The schedule of `explore` that decides what happens next. */
  readonly within?: Simulation;
  /** What its execution environments have. Default: each runs the work tree and draws from `random`. */
  readonly machine?: SimulatedGatewayOptions['machine'] | undefined;
}

/**
 * The service: its functions and commands as they are bundled, on tables in memory, behind one gateway, in virtual time. Nothing
 * happens by itself: a request or command runs to its end, or as far as `explore` lets it. Time passes only in `wait` and `sleep`, and
 * while code waits for it.
 */
export class World {
  readonly tables;
  readonly keys: Key[] = [];
  /** The commands, in the order in which they began. */
  readonly runs: Run[] = [];
  /** The outputs of the deployed stack. */
  outputs: Readonly<Record<string, string>> = outputs;
  /** API Gateway's keys and usage plans, which commands change. */
  readonly apiKeys: KeysOfWorld;
  /** What a call meets. Until that is known, time stands still. @param number of the call in its request or command, from 1 */
  meets: (call: Call, number: number) => Fate | Promise<Fate> = () => 'answered';
  /** What functions draw, in [0, 1). */
  random: () => number;
  readonly #time: SimulatedWorld;
  readonly #network: Network;
  readonly #below: (below: number) => number;
  readonly #isDriven: boolean;
  /** How many worlds there were before it, each made from the one before. */
  readonly #generation: number;
  readonly #machine: SimulatedGatewayOptions['machine'];
  readonly #evaluations: Evaluations;
  #gateway: SimulatedGateway | undefined;
  /** Calls whose fate is not known yet. */
  #held = 0;

  constructor({ at, isChecked = true, from, within, machine }: WorldOptions = {}) {
    this.#machine = machine ?? (() => ({ random: () => this.random() }));
    this.#isDriven = within === undefined;
    this.#time = within?.world ?? new SimulatedWorld(startOf(at, from) + 999, () => 0);
    this.tables = within?.tables ?? serviceTables(() => this.#time.now);
    // It does not draw the keys and IDs again that the world before it has drawn.
    this.#generation = from === undefined ? 0 : from.#generation + 1;
    const random = new Random(this.#time.now + this.#generation);
    this.random = random.next;
    this.#below = (below) => random.below(below);
    this.#network =
      within?.network ??
      new Network(this.#time, this.tables, (call, network) => {
        const meet = (fate: Fate) => {
          call.fate = fate;
          void network.meet(call)();
        };
        // The first call of request 12 has the name `12.1`.
        const fate = this.meets(call, Number(/[.a](\d+)$/.exec(call.name)?.[1]));
        if (typeof fate === 'string') meet(fate);
        else {
          this.#held += 1;
          void fate.then(meet).finally(() => (this.#held -= 1));
        }
      });
    this.#evaluations = noteEvaluations(this.tables);
    // What a hook stores before tests is what they begin with.
    const test = TestRunner.getCurrentTest();
    if (this.#isDriven && test !== undefined) {
      const recording = new RecordedCalls(this.tables, test);
      onTestFinished(() => replay(recording));
    }
    this.apiKeys = new KeysOfWorld(this.#time, from?.apiKeys);
    for (const table of tableNames.map((name) => titleCase(name)))
      for (const versions of from?.tables.versions(table) ?? []) {
        const { item } = versions.at(-1)!;
        if (item !== undefined) this.tables.put(table, item);
      }
    const gatewayState = {
      keys: this.apiKeys,
      gateway: { place, flushAuthorizerCache: () => this.#open().flushAuthorizerCache() },
      saveKeys: async () => {},
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
    this.#network.serve('sts', serviceOf(answerSts));
    this.apiKeys.plans = planNames.map((name) => ({ id: name, name, throttle: undefined, quota: undefined }));
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

  /** Waits in a step of `explore`. Others go on meanwhile. */
  sleep(milliseconds: number): Promise<void> {
    return this.#time.sleep(milliseconds);
  }

  /** The requests, in the order in which they were sent, and everything that is known of them. */
  get exchanges(): readonly Exchange[] {
    return this.#open().exchanges;
  }

  /** Stores an item as if it had always been there. */
  put(table: TableName, item: object): void {
    this.tables.put(titleCase(table), marshall(item, { removeUndefinedValues: true }) as Item);
  }

  /**
   * A valid key for requests. No command knows it: `issue` of key-tool/issued-keys.ts makes one that commands accept.
   *
   * @param usage what is stored of it
   * @param more other attributes of its record, such as `expiresAt`
   */
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

  /** Sends `count` requests at the same time. */
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

  /** Runs a command, such as `keys list --json`, of the stage local unless it names another one. It may fail: see `exitCode`. */
  async run(command: string, terminal: Terminal = {}): Promise<Run> {
    const { run, load } = newRun(command, terminal);
    this.runs.push(run);
    const start = await load(this.#time, this.#network, () => this.random());
    run.exitCode = await this.#drive(start());
    if (!this.#isDriven && run.exitCode === 2) throw new Error(`${command}: ${run.stderr}`);
    return run;
  }

  /** @throws Violation of what the interface promises */
  check(): void {
    check({
      exchanges: this.exchanges,
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
    return { name, outputs: this.outputs };
  }

  #open(): SimulatedGateway {
    this.#gateway ??= new SimulatedGateway({
      world: this.#time,
      network: this.#network,
      stage: 'local',
      machine: this.#machine,
      hasGatewayKey: (value) => this.#admits(value),
      ...(!this.#isDriven && { authorized: this.#passed() }),
    });
    return this.#gateway;
  }

  #admits(value: string): boolean {
    // Commands change it.
    this.tables.footprint.add(`apigateway ${value}`, 'read');
    return this.apiKeys.meter(value, this.#time.now) !== 'invalidApiKey';
  }

  /** What the authorizer has returned. In a schedule, it has let every key pass before. */
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
    // A slow machine makes a turn longer, and no more of them.
    for (let [idle, idleSince] = [0, 0]; !progress.isDone; await settled()) {
      idle = this.#held === 0 && this.#time.step() ? 0 : idle + 1;
      if (idle <= 1) idleSince = performance.now();
      if (idle > 1_000 && performance.now() - idleSince > 5_000) throw new Error('It never ends');
    }
    return done;
  }
}

/** Milliseconds. */
export function startOf(at: string | undefined, from: World | undefined): number {
  return at === undefined && from ? from.now * 1_000 : Date.parse(at ?? '2026-07-01T12:00:00Z');
}
