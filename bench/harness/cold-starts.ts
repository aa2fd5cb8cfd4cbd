import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { memoryOf } from '../../lib/configuration/settings.ts';
import { presets } from '../../lib/configuration/stages.ts';
import { type FunctionEntry, operations } from '../../functions/operations.ts';
import { type Built, buildFunction } from './build.ts';
import { type CpuQuota, startCpuQuota } from './cpu-quota.ts';
import { type DynamoDbStub, startDynamoDbStub } from './dynamodb-stub.ts';
import { events, keyHash, requestTo, stackVariables } from './fixtures.ts';
import { type ColdStart, Lambda, type ProcessorModel, processorModels, type Target } from './lambda.ts';
import { median, round } from './stats.ts';

/** A number for each processor model. */
export type ByModel = Readonly<Record<ProcessorModel, number>>;

/** What is started, again and again. */
export interface Subject {
  readonly name: string;
  /** Memory of the function in MB. */
  readonly memory: number;
  readonly built: Built;
  readonly target: Target;
}

export type OnRound = (done: number, of: number) => void;

/** Milliseconds for one call to DynamoDB, about as from a function. */
const waitMs = 3;

const accepts = (schema: z.ZodType) => (answer: unknown) => schema.safeParse(answer).success;
const success = z.object({ statusCode: z.union([z.literal(200), z.literal(201)]) });
const notAllowed = z.object({ statusCode: z.literal(405) });
const authorized = z.object({ usageIdentifierKey: z.literal(keyHash) });

/** The first event of each function. */
const invocations = new Map<FunctionEntry, Pick<Target, 'event' | 'accepts'>>([
  ...operations.map((each) => [each.entry, { event: requestTo(each), accepts: accepts(success) }] as const),
  ['unmatched-route', { event: events.unmatched(), accepts: accepts(notAllowed) }],
  ['authorizer', { event: events.authorize(), accepts: accepts(authorized) }],
]);

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
  readonly #stub: DynamoDbStub;
  readonly #root: string;
  readonly #quotas = new Map<number, CpuQuota>();
  #folders = 0;

  private constructor(lambda: Lambda, stub: DynamoDbStub, root: string) {
    this.#lambda = lambda;
    this.#stub = stub;
    this.#root = root;
  }

  static async run<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = new Session(
      await Lambda.start(),
      await startDynamoDbStub(waitMs),
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

  /** @param build writes a bundle to a new folder. @param handler `<file>.<export>`. @param entry whose event it gets */
  async subject(
    name: string,
    build: (directory: string) => Promise<Built>,
    handler: string,
    entry: FunctionEntry = 'list-pets',
  ): Promise<Subject> {
    this.#folders += 1;
    const built = await build(join(this.#root, String(this.#folders)));
    const environment = { ...stackVariables, ...this.#stub.environment };
    const target = { name, directory: built.directory, environment, handler, ...invocations.get(entry)! };
    return { name, memory: memoryOf(presets.prod, entry), built, target };
  }

  /** A function of the service, as deployed. */
  function(entry: FunctionEntry): Promise<Subject> {
    const build = (directory: string) => buildFunction(entry, directory);
    return this.subject(entry, build, `${entry}.handler`, entry);
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
      for (const subject of [...subjects.slice(first), ...subjects.slice(0, first)]) {
        for (const model of processorModels) {
          const quota = await this.#quota(subject.memory);
          const start = await this.#lambda.coldStart(subject.target, model, quota);
          if (done > 0) starts.get(subject)![model].push(start);
        }
      }
    }
    return new ColdStarts(starts);
  }

  async #quota(memory: number): Promise<CpuQuota> {
    const quota = this.#quotas.get(memory) ?? (await startCpuQuota(memory));
    this.#quotas.set(memory, quota);
    return quota;
  }
}
