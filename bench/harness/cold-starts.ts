import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { memoryOf } from '../../lib/configuration/settings.ts';
import { presets } from '../../lib/configuration/stages.ts';
import type { FunctionEntry } from '../../functions/operations.ts';
import type { Built } from './build.ts';
import { type CpuQuota, startCpuQuota } from './cpu-quota.ts';
import { type Answers, type DynamoDbServer, startDynamoDb } from './dynamodb.ts';
import { events, keyHash } from './fixtures.ts';
import {
  type ColdStart,
  Lambda,
  type ProcessorModel,
  processorModels,
  type ColdStartTarget,
} from './lambda.ts';
import { median, round } from './stats.ts';
import { variables } from './variables.ts';

/** A number for each processor model. */
export type ByModel = Readonly<Record<ProcessorModel, number>>;

/** What is started, again and again. */
export interface Subject {
  readonly name: string;
  /** Memory of the function in MB. */
  readonly memory: number;
  readonly built: Built;
  readonly target: ColdStartTarget;
}

export type OnRound = (done: number, of: number) => void;

/** The first event of a subject, and whether its answer is as expected. */
export type Invocation = Pick<ColdStartTarget, 'event' | 'accepts'>;

const accepts = (schema: z.ZodType) => (answer: unknown) => schema.safeParse(answer).success;
const success = z.object({ statusCode: z.union([z.literal(200), z.literal(201)]) });

export const invocations = {
  list: { event: events.list, accepts: accepts(success) },
  createOnce: { event: events.createOnce, accepts: accepts(success) },
  authorize: {
    event: events.authorize,
    accepts: accepts(z.object({ usageIdentifierKey: z.literal(keyHash) })),
  },
} as const satisfies Readonly<Record<string, Invocation>>;

/** How a subject is made. */
export interface SubjectDefinition {
  readonly name: string;
  /** Writes the bundle to a new folder. */
  readonly build: (directory: string) => Promise<Built>;
  /** `<file>.<export>` */
  readonly handler: string;
  /** The function whose memory and environment it has. */
  readonly entry: FunctionEntry;
  readonly invocation: Invocation;
}

/** The starts of all subjects, round by round: a slow phase of the machine affects all subjects of a round. */
export class ColdStarts {
  readonly #starts: ReadonlyMap<Subject, Readonly<Record<ProcessorModel, readonly ColdStart[]>>>;

  constructor(starts: ReadonlyMap<Subject, Readonly<Record<ProcessorModel, readonly ColdStart[]>>>) {
    this.#starts = starts;
  }

  /** Median over the rounds, by model. @param part gets the starts of one round */
  median(subjects: readonly Subject[], part: (...starts: ColdStart[]) => number, digits = 1): ByModel {
    const typical = (model: ProcessorModel): number => {
      const [first = [], ...others] = subjects.map((subject) => this.#starts.get(subject)![model]);
      return round(
        median(first.map((start, index) => part(start, ...others.map((each) => each[index]!)))),
        digits,
      );
    };
    return { burst: typical('burst'), share: typical('share') };
  }
}

/** The machinery of a measurement of cold starts. */
export class Session {
  readonly #lambda: Lambda;
  readonly #dynamoDb: DynamoDbServer;
  readonly #root: string;
  readonly #quotas = new Map<number, CpuQuota>();
  #folders = 0;

  private constructor(lambda: Lambda, dynamoDb: DynamoDbServer, root: string) {
    this.#lambda = lambda;
    this.#dynamoDb = dynamoDb;
    this.#root = root;
  }

  /** @param waitMs for one call to DynamoDB. @param answers of DynamoDB. Default: those of the common case */
  static async run<T>(work: (session: Session) => Promise<T>, waitMs: number, answers?: Answers): Promise<T> {
    const session = new Session(
      await Lambda.start(),
      await startDynamoDb(waitMs, answers),
      await mkdtemp(join(tmpdir(), 'animal-store-bench-')),
    );
    try {
      return await work(session);
    } finally {
      await session.#lambda.stop();
      await session.#dynamoDb.stop();
      for (const quota of session.#quotas.values()) await quota.remove();
      await rm(session.#root, { recursive: true });
    }
  }

  async subject({ name, build, handler, entry, invocation }: SubjectDefinition): Promise<Subject> {
    this.#folders += 1;
    const built = await build(join(this.#root, String(this.#folders)));
    const environment = { ...variables([entry]), ...this.#dynamoDb.environment };
    const target = { name, directory: built.directory, environment, handler, ...invocation };
    return { name, memory: memoryOf(presets.prod, entry), built, target };
  }

  /**
   * Starts every subject in both models once a round, each round from another subject on. A first round that does not count
   * fills the disk caches.
   */
  async start(subjects: readonly Subject[], rounds: number, onRound: OnRound): Promise<ColdStarts> {
    const starts = new Map<Subject, Record<ProcessorModel, ColdStart[]>>();
    for (const subject of subjects) starts.set(subject, { burst: [], share: [] });
    for (let done = 0; done <= rounds; done += 1) {
      onRound(done, rounds + 1);
      const first = done % subjects.length;
      for (const model of processorModels) {
        for (const subject of [...subjects.slice(first), ...subjects.slice(0, first)]) {
          const quota = await this.#quota(subject.memory);
          const start = await this.#lambda.coldStart(subject.target, model, quota);
          if (done > 0) starts.get(subject)![model].push(start);
        }
      }
    }
    return new ColdStarts(starts);
  }

  /** Starts a subject, and waits for its answer. */
  async startOnce(subject: Subject): Promise<ColdStart> {
    return this.#lambda.coldStart(subject.target, 'burst', await this.#quota(subject.memory));
  }

  async #quota(memory: number): Promise<CpuQuota> {
    const quota = this.#quotas.get(memory) ?? (await startCpuQuota(memory));
    this.#quotas.set(memory, quota);
    return quota;
  }
}
