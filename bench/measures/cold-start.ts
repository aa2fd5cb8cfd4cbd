import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import type { FunctionEntry } from '../../lib/compute/entries.ts';
import { dynamoDbAnswers, startDynamoDbStub } from '../harness/dynamodb-stub.ts';
import { events, keyHash, stackVariables } from '../harness/fixtures.ts';
import { type ColdStart, Lambda, type Target } from '../harness/lambda.ts';
import { median, quantile, round } from '../harness/stats.ts';
import {
  buildOtherWay,
  buildPeer,
  type Built,
  deployed,
  fillCompileCache,
  type OtherWay,
} from '../harness/variants.ts';

export interface ColdStartResult {
  readonly name: string;
  readonly group: 'reference' | 'function' | 'peer' | 'lever' | 'not kept';
  /** Process start to the first request for an event, in milliseconds. */
  readonly init: number;
  readonly timesEmpty: number;
  readonly fastest: number;
  readonly p90: number;
  /** Process start to the first answer, in milliseconds. */
  readonly answer: number;
  readonly memory: number | undefined;
  readonly startKB: number;
  readonly allKB: number;
}

interface Subject {
  readonly name: string;
  readonly group: ColdStartResult['group'];
  readonly built: Built;
  readonly target: Target;
}

const httpAnswer = z.object({ statusCode: z.number() });
const answersWith = (status: number) => (answer: unknown) =>
  httpAnswer.safeParse(answer).data?.statusCode === status;

const functions: readonly (readonly [FunctionEntry, unknown, (answer: unknown) => boolean])[] = [
  ['list-pets', events.list(), answersWith(200)],
  ['create-pet', events.create(), answersWith(201)],
  ['get-pet', events.get('7'), answersWith(200)],
  ['unmatched-route', events.unmatched(), answersWith(405)],
  [
    'authorizer',
    events.authorize(),
    (answer) => z.object({ usageIdentifierKey: z.literal(keyHash) }).safeParse(answer).success,
  ],
];

const peers = [
  ['Express, by an adapter', 'express.mjs'],
  ['Hono', 'hono.mjs'],
  ['middy, Powertools logger, metrics and tracer', 'powertools.mjs'],
] as const;

/** The listing, from the way it would be without a thought to the way it is: each adds one thing to the one before. */
const levers: readonly (readonly [string, OtherWay])[] = [
  ['one file, full zod, the SDK finds everything out', { client: 'naive-client.ts', fullZod: true }],
  ['+ zod/mini', { client: 'naive-client.ts' }],
  ['+ told Region and credentials, split', { client: 'explicit-client.ts', options: { splitting: true } }],
  ['+ client put together from its parts', { options: { splitting: true } }],
  ['+ modules left out that never run, one file', { leaveOut: true }],
  ["+ Node.js's own modules late (deployed)", deployed],
];

const notKept: readonly (readonly [string, OtherWay])[] = [
  ['deployed, as CommonJS', { ...deployed, options: { format: 'cjs', outExtension: { '.js': '.cjs' } } }],
  ['deployed, split', { ...deployed, options: { splitting: true } }],
  ['deployed, not minified', { ...deployed, options: { minify: false } }],
  [
    'deployed, zod without generated code',
    { ...deployed, options: { banner: { js: 'globalThis.__zod_globalConfig={jitless:true};' } } },
  ],
];

/**
 * Cold starts, every subject once a round, so that whatever else the machine does befalls all alike.
 *
 * @param rounds how often each starts; one more round goes before, to fill the caches of the disk
 */
export async function measureColdStarts(
  rounds: number,
  onProgress: (done: number, of: number) => void,
): Promise<ColdStartResult[]> {
  const root = await mkdtemp(join(tmpdir(), 'animal-store-bench-'));
  const stub = await startDynamoDbStub(dynamoDbAnswers());
  const lambda = await Lambda.start();
  try {
    const subjects = await prepare(root, { ...stackVariables(), ...stub.environment });
    const starts = new Map<Subject, ColdStart[]>(subjects.map((subject) => [subject, []]));
    for (let done = 0; done <= rounds; done += 1) {
      onProgress(done, rounds + 1);
      for (const [subject, all] of starts) {
        const start = await lambda.coldStart(subject.target);
        if (done > 0) all.push(start);
      }
    }
    const empty = median(starts.get(subjects[0]!)!.map(({ init }) => init));
    return subjects.map((subject) => summarise(subject, starts.get(subject)!, empty));
  } finally {
    await lambda.stop();
    await stub.stop();
    await rm(root, { recursive: true });
  }
}

/** The empty function comes first. */
async function prepare(root: string, environment: Readonly<Record<string, string>>): Promise<Subject[]> {
  const subjects: Subject[] = [];
  const add = (
    name: string,
    group: Subject['group'],
    built: Built,
    handler: string,
    event: unknown,
    accepts: Target['accepts'],
    variables = environment,
  ): void => {
    const target = { name, directory: built.directory, handler, environment: variables, event, accepts };
    subjects.push({ name, group, built, target });
  };
  const folder = (): string => join(root, String(subjects.length));
  const [, listing, listed] = functions[0]!;

  add('empty', 'reference', await buildPeer('empty.ts', folder()), 'empty.handler', {}, answersWith(200));
  for (const [entry, event, accepts] of functions) {
    add(
      entry,
      'function',
      await buildOtherWay(entry, folder(), deployed),
      `${entry}.handler`,
      event,
      accepts,
    );
  }
  for (const [name, file] of peers) {
    add(name, 'peer', await buildPeer(file, folder()), `${file.split('.')[0]}.handler`, listing, listed);
  }
  for (const [group, ways] of [
    ['lever', levers],
    ['not kept', notKept],
  ] as const) {
    for (const [name, way] of ways) {
      add(name, group, await buildOtherWay('list-pets', folder(), way), 'list-pets.handler', listing, listed);
    }
  }
  const cached = await buildOtherWay('list-pets', folder(), deployed);
  const cache = join(root, 'compile-cache');
  await fillCompileCache(cached, cache, environment);
  const variables = { ...environment, NODE_COMPILE_CACHE: cache };
  add(
    "deployed, V8's compile cache filled on this very machine",
    'not kept',
    cached,
    'list-pets.handler',
    listing,
    listed,
    variables,
  );
  return subjects;
}

function summarise(
  { name, group, built }: Subject,
  starts: readonly ColdStart[],
  empty: number,
): ColdStartResult {
  const inits = starts.map(({ init }) => init);
  const init = median(inits);
  const memories = starts.flatMap(({ memory }) => memory ?? []);
  return {
    name,
    group,
    init: round(init),
    timesEmpty: round(init / empty, 2),
    fastest: round(Math.min(...inits)),
    p90: round(quantile(inits, 0.9)),
    answer: round(median(starts.map(({ answer }) => answer))),
    memory: memories.length === 0 ? undefined : round(median(memories), 0),
    startKB: round(built.startBytes / 1_000),
    allKB: round(built.allBytes / 1_000),
  };
}
