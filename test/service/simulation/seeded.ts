import type { Version } from './environments.ts';
import { check } from './check.ts';
import { type Part, record, type Recording } from './recording.ts';
import { type History, Violation } from './seen.ts';
import { fewest } from './smallest.ts';
import { howToRepeat } from '../../support/how-to-repeat.ts';
import { tell } from './story.ts';

/** @throws Violation with the story of the fewest requests, events and faults that still have it */
export async function simulate(seed: number, versions: readonly Version[]): Promise<History> {
  const recording = await record(seed, versions);
  const violation = violationOf(recording.history);
  if (violation === undefined) return recording.history;
  const only = await smallestPart(seed, versions, recording, violation);
  const { history } = await record(seed, versions, { of: recording, only });
  const found = violationOf(history);
  const [story, ...variables] =
    found === undefined
      ? [tell(violation, recording.history), `SEED=${seed}`]
      : [tell(found, history), `SEED=${seed}`, `ONLY=${partAsText(only)}`];
  const commits = versions.flatMap(({ commit }) => (commit === undefined ? [] : [`EARLIER=${commit}`]));
  throw new Violation(`${story}\n${howToRepeat(...commits, ...variables)}`);
}

/** @param text of a part that failed. @throws Violation */
export async function simulatePart(
  seed: number,
  versions: readonly Version[],
  text: string,
): Promise<History> {
  const recording = await record(seed, versions);
  const { history } = await record(seed, versions, { of: recording, only: partOfText(text) });
  const violation = violationOf(history);
  if (violation !== undefined) throw new Violation(tell(violation, history));
  return history;
}

function violationOf(history: History): Violation | undefined {
  try {
    check(history);
    return undefined;
  } catch (error) {
    if (error instanceof Violation) return error;
    throw error;
  }
}

async function smallestPart(
  seed: number,
  versions: readonly Version[],
  recording: Recording,
  { kind }: Violation,
): Promise<Part> {
  const part = { ...recording.whole };
  for (const list of ['requests', 'events', 'faults'] as const) {
    const things: readonly (number | string)[] = [...part[list]];
    const left = await fewest(things, async (only) => {
      const { history } = await record(seed, versions, {
        of: recording,
        only: { ...part, [list]: new Set(only) },
      });
      return violationOf(history)?.kind === kind;
    });
    Object.assign(part, { [list]: new Set(left) });
  }
  return part;
}

/** The part as the command line has it, such as `3,7/0/7.2`. */
function partAsText({ requests, events, faults: met }: Part): string {
  return [requests, events, met].map((each) => [...each].join(',')).join('/');
}

function partOfText(text: string): Part {
  const [requests = [], events = [], met = []] = text
    .split('/')
    .map((list) => list.split(',').filter((each) => each !== ''));
  return {
    requests: new Set(requests.map(Number)),
    events: new Set(events.map(Number)),
    faults: new Set(met),
  };
}
