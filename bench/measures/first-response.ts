import { type FunctionEntry, functionEntries } from '../../functions/operations.ts';
import { buildPeer } from '../harness/build.ts';
import { type ByModel, type OnRound, Session, type Subject } from '../harness/cold-starts.ts';
import { round } from '../harness/stats.ts';

/** Process start to the first response, in milliseconds. */
export interface FirstResponse {
  readonly name: string;
  readonly response: ByModel;
  readonly kilobytes: number;
}

/** The first response of a function relative to a peer, as the median over the rounds. */
export interface Ratio {
  readonly name: string;
  readonly peer: string;
  readonly times: ByModel;
  readonly goal?: number;
  readonly atMost: ByModel;
}

export interface FirstResponses {
  readonly responses: readonly FirstResponse[];
  /** A client's first call, when both functions start cold: authorizer, then operation. */
  readonly calls: readonly Pick<FirstResponse, 'name' | 'response'>[];
  readonly ratios: readonly Ratio[];
}

/** Two calls by node:https, signed by hand, nothing checked. */
const floor = 'floor';
/** With the SDK's client as usually bundled. */
const bare = 'bare handler';
/** With the Powertools' logger, metrics and tracer. */
const powertools = 'middy, Powertools';

interface Budget {
  readonly name: FunctionEntry;
  readonly peer: string;
  /** For the median of ten runs, in both models. */
  readonly goal?: number;
  /** For one run: 5 % above the highest of ten. */
  readonly atMost: ByModel;
}

const budgets: readonly Budget[] = [
  { name: 'list-pets', peer: bare, goal: 0.83, atMost: { burst: 0.88, share: 0.95 } },
  { name: 'create-pet', peer: bare, goal: 0.83, atMost: { burst: 1.02, share: 0.97 } },
  { name: 'list-pets', peer: powertools, goal: 0.78, atMost: { burst: 0.86, share: 0.8 } },
  { name: 'create-pet', peer: powertools, goal: 0.78, atMost: { burst: 0.83, share: 0.8 } },
  { name: 'list-pets', peer: floor, atMost: { burst: 1.97, share: 1.92 } },
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
      await peer('Express', 'express.mjs'),
      await peer('Hono', 'hono.mjs'),
      await peer(powertools, 'powertools.mjs'),
    ];
    const rows = [...own.values(), ...others];
    const starts = await session.start(rows, rounds, onRound);
    const named = (name: string): Subject => rows.find((subject) => subject.name === name)!;
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
      ratios: budgets.map((budget) => ({
        ...budget,
        times: starts.median(
          [named(budget.name), named(budget.peer)],
          (ours, theirs) => ours.response / theirs.response,
          2,
        ),
      })),
    };
  });
}
