import { DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import type { PetTable } from '../../../functions/pets/store.ts';
import { counted, grouped } from '../command-line/output.ts';
import type { Session } from './pet-command.ts';

/** Milliseconds between two reports of the progress: in place, and as lines. */
const reportEvery = { live: 200, lines: 5_000 };

/** How far a command is. */
interface State {
  readonly done: number;
  /** How much of the whole that was, if that differs. */
  readonly position?: number | undefined;
  /** What there is to do. Undefined: nobody knows. */
  readonly total?: number | undefined;
  /** What else a person wants to know, such as `12 already there`. */
  readonly more?: string | undefined;
}

interface Words {
  /** The value with --json. */
  readonly json: (state: State) => object;
  /** The line, where nothing is written in place. */
  readonly line: (state: State) => string;
  /** Whether each state is a line, not only one every few seconds. */
  readonly isEvery?: boolean;
}

/** Reports how far a command is: on a terminal in place with the share of the whole and the time left, otherwise as lines. */
function progressOf({ service: { clock }, output }: Session, { json, line, isEvery }: Words) {
  const startedAt = clock();
  let reportedAt = startedAt;
  const pause = output.isLive ? reportEvery.live : isEvery ? 0 : reportEvery.lines;
  return (state: State): void => {
    if (clock() - reportedAt < pause) return;
    reportedAt = clock();
    if (output.isLive) output.progress(textInPlace(line(state), state, clock() - startedAt));
    else output.report({ progress: json(state) }, line(state));
  };
}

/** A line such as `75 of 200 animals (37 %), 12 already there, 20 s left`. @param elapsed milliseconds */
function textInPlace(line: string, { done, position = done, total, more }: State, elapsed: number): string {
  // A total that is only nearly right can be too small.
  const share = total === undefined || total < position ? undefined : position / total;
  return [
    share === undefined ? line : `${line} (${Math.floor(100 * share)} %)`,
    ...(more === undefined ? [] : [more]),
    ...(share === undefined || share === 0 ? [] : [`${durationText(elapsed / share - elapsed)} left`]),
  ].join(', ');
}

/** @param milliseconds at least 0 */
function durationText(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1_000);
  if (seconds < 100) return `${seconds} s`;
  return seconds < 6_000 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}

/** The progress of reading a whole table. @param did such as `Checked` */
export async function scanProgress(
  session: Session,
  { client, tableName }: PetTable,
  { did, name }: { readonly did: string; readonly name: string },
): Promise<(done: number, position?: number) => void> {
  // Only a person at a terminal needs it. DynamoDB counts every six hours, and the permission can be missing.
  const total = session.output.isLive
    ? await client.send(new DescribeTableCommand({ TableName: tableName })).then(
        ({ Table: table }) => table?.ItemCount,
        () => undefined,
      )
    : undefined;
  const report = progressOf(session, {
    json: ({ done }) => ({ [name]: done }),
    line: ({ done }) => `${did} ${counted(done, 'animal')}`.trim(),
    isEvery: true,
  });
  return (done, position) => report({ done, position, total: total || undefined });
}

/** The progress of changing animals. */
export function changeProgress(session: Session, total: number) {
  const report = progressOf(session, {
    json: ({ done }) => ({ done, animals: total }),
    line: ({ done }) => `${grouped(done)} of ${counted(total, 'animal')}`,
  });
  return (done: number, more?: string): void => report({ done, total, more });
}
