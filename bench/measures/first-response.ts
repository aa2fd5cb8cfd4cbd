import { processorModels } from '../harness/lambda.ts';
import { type ByModel, type OnRound, Session } from '../harness/cold-starts.ts';
import { round } from '../harness/stats.ts';
import type { Ratio } from './ratio.ts';
import { subjects } from './subjects.ts';

/** Process start to the first response, in milliseconds. */
export interface FirstResponse {
  readonly name: string;
  readonly response: ByModel;
  readonly kilobytes: number;
}

export interface FirstResponses {
  readonly responses: readonly FirstResponse[];
  readonly ratios: readonly Ratio[];
}

/** Milliseconds for one call to DynamoDB, about as from a function. */
const waitMs = 3;

export function measureFirstResponses(rounds: number, onRound: OnRound): Promise<FirstResponses> {
  return Session.run(async (session) => {
    const list = await session.subject(subjects.list);
    const create = await session.subject(subjects.create);
    const authorizer = await session.subject(subjects.authorizer);
    const listOfParts = await session.subject(subjects.listOfParts);
    const createOfParts = await session.subject(subjects.createOfParts);
    const bare = await session.subject(subjects.bare);
    const pairs = [
      ['list', list, 'parts', listOfParts],
      ['create with Idempotency-Key', create, 'parts', createOfParts],
      ['list', list, 'bare handler', bare],
    ] as const;
    const starts = await session.start(
      // Those that are compared are neighbours.
      [listOfParts, list, bare, create, createOfParts, authorizer],
      rounds,
      onRound,
    );
    return {
      responses: [list, create, authorizer, listOfParts, createOfParts, bare].map((subject) => ({
        name: subject.name,
        response: starts.median([subject], ({ response }) => response),
        kilobytes: round(subject.built.bytes / 1_000),
      })),
      ratios: pairs.flatMap(([operation, ours, peer, other]) => {
        const values = starts.median([ours, other], (own, theirs) => own.response / theirs.response, 2);
        return processorModels.map((measure): Ratio => ({
          operation,
          peer,
          measure,
          value: values[measure],
        }));
      }),
    };
  }, waitMs);
}
