import { type FunctionEntry, functionEntries } from '../../lib/operations.ts';
import { buildPeer, buildVariant } from '../harness/build.ts';
import { type ByModel, type OnRound, Session, type Subject } from '../harness/cold-starts.ts';
import { round } from '../harness/stats.ts';

/** Process start to the first response, in milliseconds. */
export interface FirstResponse {
  readonly name: string;
  readonly response: ByModel;
  readonly kilobytes: number;
}

/** The first response of a function relative to a peer, as the median over the rounds. */
export interface BudgetResult {
  readonly name: string;
  readonly peer: string;
  readonly times: ByModel;
  readonly atMost: ByModel;
}

export interface FirstResponses {
  readonly responses: readonly FirstResponse[];
  /** A client's first call, when both functions start cold: authorizer, then operation. */
  readonly calls: readonly Pick<FirstResponse, 'name' | 'response'>[];
  readonly budgets: readonly BudgetResult[];
  /** What list-pets adds to the floor, step by step, in milliseconds. */
  readonly steps: readonly { readonly name: string; readonly more: ByModel }[];
}

const floor = 'floor: two calls by node:https, signed by hand, nothing checked';
const bare = "bare handler, SDK's own client";
const powertools = 'middy, Powertools logger, metrics and tracer';

const budgets: readonly (readonly [entry: FunctionEntry, peer: string, atMost: ByModel])[] = [
  ['list-pets', bare, { burst: 0.8, share: 0.8 }],
  ['create-pet', bare, { burst: 0.8, share: 0.8 }],
  ['list-pets', powertools, { burst: 0.72, share: 0.72 }],
  ['create-pet', powertools, { burst: 0.72, share: 0.72 }],
  ['list-pets', floor, { burst: 1.55, share: 1.4 }],
];

export async function measureFirstResponses(rounds: number, onRound: OnRound): Promise<FirstResponses> {
  return Session.run(async (session) => {
    const own = new Map<FunctionEntry, Subject>();
    for (const entry of functionEntries) own.set(entry, await session.function(entry));
    const peer = (name: string, file: string, handler = 'handler', client?: string) =>
      session.subject(
        name,
        (directory) => buildPeer(file, directory, client),
        `${file.split('.')[0]}.${handler}`,
      );
    const others = [
      await peer('empty', 'empty.ts'),
      await peer(floor, 'floor.ts'),
      await peer(bare, 'bare.ts', 'list', 'naive-client.ts'),
      await peer('Express, by an adapter', 'express.mjs'),
      await peer('Hono', 'hono.mjs'),
      await peer(powertools, 'powertools.mjs'),
    ];
    const deployedAs = (name: string, file: string, handler: string) =>
      session.subject(
        name,
        (directory) => buildVariant(`bench/variants/${file}.ts`, directory),
        `${file}.${handler}`,
      );
    const between = [
      await deployedAs('the DynamoDB client: retries, errors, documents', 'bare', 'list'),
      await deployedAs('middy and zod/mini', 'libraries', 'handler'),
    ];
    const rows = [...own.values(), ...others];
    const starts = await session.start([...rows, ...between], rounds, onRound);
    const named = (name: string): Subject => rows.find((subject) => subject.name === name)!;
    const path = [named(floor), ...between, named('list-pets')];
    return {
      responses: rows.map((subject) => ({
        name: subject.name,
        response: starts.median([subject], ({ response }) => response),
        kilobytes: round(subject.built.bytes / 1_000),
      })),
      calls: (['list-pets', 'create-pet'] as const).map((entry) => ({
        name: `authorizer + ${entry}`,
        response: starts.median(
          [own.get('authorizer')!, own.get(entry)!],
          (authorizer, operation) => authorizer.response + operation.response,
        ),
      })),
      budgets: budgets.map(([name, of, atMost]) => ({
        name,
        peer: of,
        times: starts.median([named(name), named(of)], (ours, theirs) => ours.response / theirs.response, 2),
        atMost,
      })),
      steps: path.slice(1).map((subject, index) => ({
        name: index < between.length ? subject.name : 'the rest: input, limits, errors, log, metrics',
        more: starts.median([subject, path[index]!], (after, before) => after.response - before.response),
      })),
    };
  });
}
