import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import type { FunctionEntry } from '../../lib/operations.ts';
import { memoryOf } from '../../lib/configuration/settings.ts';
import { presets } from '../../lib/configuration/stages.ts';
import { Baseline } from '../harness/baseline.ts';
import { CpuQuota } from '../harness/cpu-quota.ts';
import { dynamoDbAnswers, startDynamoDbStub } from '../harness/dynamodb-stub.ts';
import { events, keyHash, stackVariables } from '../harness/fixtures.ts';
import {
  type ColdStart,
  Lambda,
  type ProcessorModel,
  processorModels,
  type Target,
} from '../harness/lambda.ts';
import { median, quantile, round } from '../harness/stats.ts';
import { buildPeer, type Built, buildVariant, type Variant } from '../harness/variants.ts';

/** Milliseconds by model. */
export type ByModel = Readonly<Record<ProcessorModel, number>>;

export interface FirstResponse {
  readonly name: string;
  readonly group: 'reference' | 'function' | 'baseline' | 'peer' | 'lever';
  /** Memory of the function in MB. */
  readonly memory: number;
  /** Process start to the first request for an event, with all processors, in milliseconds. */
  readonly init: number;
  /** Median of the ratios of each round, here and below: a slow phase of the machine affects both terms. */
  readonly timesEmpty: number;
  /** First response relative to the function of the baseline, which starts next to it. */
  readonly timesBaseline?: ByModel | undefined;
  /** Process start to the first response. */
  readonly response: ByModel;
  /** Processor time until then, in milliseconds. */
  readonly cpu: number | undefined;
  readonly peakMiB: number | undefined;
  readonly kilobytes: number;
}

/** A client's first call, when both functions start cold: authorizer, then operation. */
export interface FirstCall {
  readonly name: string;
  readonly memory: number;
  readonly response: ByModel;
}

/** Difference in the first response without one choice about the bundle. */
export interface Lever {
  readonly without: string;
  /** Medians of the differences, round by round, in milliseconds. */
  readonly init: number;
  readonly response: ByModel;
  readonly cpu: number | undefined;
  readonly kilobytes: number;
}

export interface MemoryResult {
  readonly entry: FunctionEntry;
  readonly memory: number;
  readonly response: ByModel;
  /** Event to response of warm invocations, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** US dollars for a million warm invocations, each billed by the millisecond. */
  readonly price: number;
}

interface Subject {
  readonly name: string;
  readonly group: FirstResponse['group'];
  readonly memory: number;
  readonly built: Built;
  readonly target: Target;
}

type Starts = ReadonlyMap<Subject, Readonly<Record<ProcessorModel, readonly ColdStart[]>>>;
type OnProgress = (done: number, of: number) => void;

/** Milliseconds for one call to DynamoDB, about as from a function. */
const waitMs = 3;

const httpAnswer = z.object({ statusCode: z.number() });
const answersWith = (status: number) => (answer: unknown) =>
  httpAnswer.safeParse(answer).data?.statusCode === status;

const invocations: Readonly<Record<FunctionEntry, Pick<Target, 'event' | 'accepts'>>> = {
  'list-pets': { event: events.list(), accepts: answersWith(200) },
  'create-pet': { event: events.create(), accepts: answersWith(201) },
  'get-pet': { event: events.get('7'), accepts: answersWith(200) },
  'unmatched-route': { event: events.unmatched(), accepts: answersWith(405) },
  authorizer: {
    event: events.authorize(),
    accepts: (answer) => z.object({ usageIdentifierKey: z.literal(keyHash) }).safeParse(answer).success,
  },
};
const entries = Object.keys(invocations) as FunctionEntry[];
const operations = ['list-pets', 'create-pet'] as const;
/** The functions that a baseline is measured for. */
const comparedEntries = new Set<FunctionEntry>(['authorizer', ...operations]);

const peers = [
  ["bare handler, SDK's own client", 'bare.ts', 'list', 'naive-client.ts'],
  ['Express, by an adapter', 'express.mjs', 'handler', undefined],
  ['Hono', 'hono.mjs', 'handler', undefined],
  ['middy, Powertools logger, metrics and tracer', 'powertools.mjs', 'handler', undefined],
] as const;

const levers: readonly (readonly [string, Variant])[] = [
  ['client assembled from parts: the SDK’s own', { client: 'explicit-client.ts', keepAllModules: true }],
  ['modules left out', { keepAllModules: true }],
  ['zod/mini', { fullZod: true }],
  ['minification', { options: { minify: false } }],
];

interface FunctionOptions {
  readonly name?: string;
  readonly group?: Subject['group'];
  readonly memory?: number;
  readonly variant?: Variant;
}

/** Shared resources of the measurements of cold starts. */
class Session {
  readonly #lambda: Lambda;
  readonly #stub: Awaited<ReturnType<typeof startDynamoDbStub>>;
  readonly #root: string;
  readonly #quotas = new Map<number, CpuQuota>();
  #folders = 0;

  private constructor(lambda: Lambda, stub: Awaited<ReturnType<typeof startDynamoDbStub>>, root: string) {
    this.#lambda = lambda;
    this.#stub = stub;
    this.#root = root;
  }

  static async run<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = new Session(
      await Lambda.start(),
      await startDynamoDbStub(dynamoDbAnswers(), waitMs),
      await mkdtemp(join(tmpdir(), 'animal-store-bench-')),
    );
    try {
      return await work(session);
    } finally {
      await session.#lambda.stop();
      await session.#stub.stop();
      for (const quota of session.#quotas.values()) await quota.remove();
      await rm(session.#root, { recursive: true });
    }
  }

  folder(): string {
    this.#folders += 1;
    return join(this.#root, String(this.#folders));
  }

  subject(
    name: string,
    group: Subject['group'],
    memory: number,
    built: Built,
    invocation: Pick<Target, 'handler' | 'event' | 'accepts'>,
  ): Subject {
    const environment = { ...stackVariables(), ...this.#stub.environment };
    const target = { name, directory: built.directory, environment, ...invocation };
    return { name, group, memory, built, target };
  }

  async function(entry: FunctionEntry, options: FunctionOptions = {}): Promise<Subject> {
    const { name = entry, group = 'function', memory = memoryOf(presets.prod, entry), variant } = options;
    const built = await buildVariant(`functions/${entry}.ts`, this.folder(), variant);
    return this.subject(name, group, memory, built, { ...invocations[entry], handler: `${entry}.handler` });
  }

  /**
   * Starts every subject in both models once a round, each round from another subject on, so that other work of the machine
   * affects all equally. A first round that does not count fills the disk caches.
   */
  async start(
    subjects: readonly Subject[],
    rounds: number,
    onProgress: OnProgress,
    warm = 0,
  ): Promise<Starts> {
    const starts = new Map<Subject, Record<ProcessorModel, ColdStart[]>>();
    for (const subject of subjects) starts.set(subject, { burst: [], share: [] });
    for (let done = 0; done <= rounds; done += 1) {
      onProgress(done, rounds + 1);
      const first = done % subjects.length;
      for (const subject of [...subjects.slice(first), ...subjects.slice(0, first)]) {
        const byModel = starts.get(subject)!;
        for (const model of processorModels) {
          const quota = await this.#quota(subject.memory);
          const start = await this.#lambda.coldStart(subject.target, { model, quota, warm });
          if (done > 0) byModel[model].push(start);
        }
      }
    }
    return starts;
  }

  async #quota(memory: number): Promise<CpuQuota> {
    const quota = this.#quotas.get(memory) ?? (await CpuQuota.ofMemory(memory));
    this.#quotas.set(memory, quota);
    return quota;
  }
}

/** @param baseline a commit and its memory, to be measured beside the current functions */
export async function measureFirstResponses(
  rounds: number,
  onProgress: OnProgress,
  baseline?: { readonly commit: string; readonly memory: number },
): Promise<{ readonly functions: readonly FirstResponse[]; readonly calls: readonly FirstCall[] }> {
  return Session.run(async (session) => {
    const memory = memoryOf(presets.prod, 'list-pets');
    const empty = session.subject(
      'empty',
      'reference',
      memory,
      await buildPeer('empty.ts', session.folder()),
      {
        handler: 'empty.handler',
        event: {},
        accepts: answersWith(200),
      },
    );
    const subjects: Subject[] = [empty];
    const before = baseline && (await Baseline.checkOut(baseline.commit));
    const baselines = new Map<Subject, Subject>();
    try {
      for (const entry of entries) {
        const subject = await session.function(entry);
        subjects.push(subject);
        if (baseline === undefined || before === undefined || !comparedEntries.has(entry)) continue;
        const built = await before.build(entry, session.folder());
        const invocation = { ...invocations[entry], handler: `${entry}.handler` };
        const name = `${entry} at ${baseline.commit}`;
        const earlier = session.subject(name, 'baseline', baseline.memory, built, invocation);
        baselines.set(subject, earlier);
        subjects.push(earlier);
      }
    } finally {
      await before?.remove();
    }
    for (const [name, file, handler, client] of peers) {
      const built = await buildPeer(file, session.folder(), client);
      const invocation = { ...invocations['list-pets'], handler: `${file.split('.')[0]}.${handler}` };
      subjects.push(session.subject(name, 'peer', memory, built, invocation));
    }
    const starts = await session.start(subjects, rounds, onProgress);
    return {
      functions: subjects.map((subject) => summarise(subject, starts, empty, baselines.get(subject))),
      calls: (['function', 'baseline'] as const).flatMap((group) => firstCalls(group, starts)),
    };
  });
}

/** The gain of each choice about the bundle, for `list-pets`. */
export async function measureLevers(rounds: number, onProgress: OnProgress): Promise<readonly Lever[]> {
  return Session.run(async (session) => {
    const deployed = await session.function('list-pets');
    const variants: Subject[] = [];
    for (const [name, variant] of levers) {
      variants.push(await session.function('list-pets', { name, group: 'lever', variant }));
    }
    const starts = await session.start([deployed, ...variants], rounds, onProgress);
    const { burst, share } = starts.get(deployed)!;
    return variants.map((subject) => {
      const own = starts.get(subject)!;
      const more = (part: (start: ColdStart) => number, model: ProcessorModel): number => {
        const reference = model === 'burst' ? burst : share;
        return round(median(own[model].map((start, index) => part(start) - part(reference[index]!))));
      };
      return {
        without: subject.name,
        init: more(({ init }) => init, 'burst'),
        response: {
          burst: more(({ response }) => response, 'burst'),
          share: more(({ response }) => response, 'share'),
        },
        cpu: more(({ cpu }) => cpu ?? Number.NaN, 'burst'),
        kilobytes: round((subject.built.bytes - deployed.built.bytes) / 1_000),
      };
    });
  });
}

const memorySizes = [512, 1_024, 1_769];

/** US dollars on arm64: https://aws.amazon.com/lambda/pricing/ */
const pricePerGbSecond = 0.0000133334;

/** @param warm measured requests after the first */
export async function measureMemory(
  rounds: number,
  warm: number,
  onProgress: OnProgress,
): Promise<readonly MemoryResult[]> {
  return Session.run(async (session) => {
    const measured = ['list-pets', 'authorizer'] as const;
    const subjects: { readonly entry: FunctionEntry; readonly subject: Subject }[] = [];
    for (const entry of measured) {
      for (const memory of memorySizes)
        subjects.push({ entry, subject: await session.function(entry, { memory }) });
    }
    const starts = await session.start(
      subjects.map(({ subject }) => subject),
      rounds,
      onProgress,
      warm,
    );
    return subjects.map(({ entry, subject }) => {
      const latencies = Object.values(starts.get(subject)!).flatMap((all) =>
        all.flatMap((each) => each.warm),
      );
      const billedMs = latencies.reduce((sum, latency) => sum + Math.ceil(latency), 0) / latencies.length;
      return {
        entry,
        memory: subject.memory,
        response: responses(subject, starts),
        p50: round(median(latencies)),
        p99: round(quantile(latencies, 0.99)),
        price: round((billedMs / 1_000) * (subject.memory / 1_024) * pricePerGbSecond * 1_000_000, 2),
      };
    });
  });
}

function responses(subject: Subject, starts: Starts): ByModel {
  const { burst, share } = starts.get(subject)!;
  const typical = (all: readonly ColdStart[]): number => round(median(all.map(({ response }) => response)));
  return { burst: typical(burst), share: typical(share) };
}

function summarise(
  subject: Subject,
  starts: Starts,
  empty: Subject,
  baseline: Subject | undefined,
): FirstResponse {
  const { burst } = starts.get(subject)!;
  const init = median(burst.map((start) => start.init));
  const ratio = (other: Subject, model: ProcessorModel, part: 'init' | 'response'): number => {
    const reference = starts.get(other)![model];
    return round(
      median(starts.get(subject)![model].map((start, index) => start[part] / reference[index]![part])),
      2,
    );
  };
  const known = (part: 'cpu' | 'memory'): number | undefined => {
    const values = burst.flatMap((start) => start[part] ?? []);
    return values.length === 0 ? undefined : round(median(values), 0);
  };
  return {
    name: subject.name,
    group: subject.group,
    memory: subject.memory,
    init: round(init),
    timesEmpty: ratio(empty, 'burst', 'init'),
    timesBaseline: baseline && {
      burst: ratio(baseline, 'burst', 'response'),
      share: ratio(baseline, 'share', 'response'),
    },
    response: responses(subject, starts),
    cpu: known('cpu'),
    peakMiB: known('memory'),
    kilobytes: round(subject.built.bytes / 1_000),
  };
}

/** Sums of both functions, round by round. */
function firstCalls(group: Subject['group'], starts: Starts): FirstCall[] {
  const all = [...starts.keys()].filter((subject) => subject.group === group);
  const authorizer = all.find(({ name }) => name.startsWith('authorizer'));
  if (authorizer === undefined) return [];
  return all
    .filter(({ name }) => operations.some((operation) => name.startsWith(operation)))
    .map((operation) => {
      const sum = (model: ProcessorModel): number => {
        const first = starts.get(authorizer)![model];
        return round(
          median(
            starts.get(operation)![model].map(({ response }, index) => response + first[index]!.response),
          ),
        );
      };
      return {
        name: `authorizer + ${operation.name}`,
        memory: operation.memory,
        response: { burst: sum('burst'), share: sum('share') },
      };
    });
}
