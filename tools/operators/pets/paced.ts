import { counted, grouped } from '../command-line/output.ts';
import type { Session } from './pet-command.ts';

/** Animals that are written at the same time. */
const atOnce = 25;
/** Milliseconds between two reports of the progress. */
const reportEvery = 5_000;

/** How many there are, and how many to write a second. */
interface Pace {
  readonly total: number;
  readonly rate: number;
}

/** Writes items, a few at a time and not too many a second, and reports the progress. */
export async function writeEach<T>(
  { service: { clock, sleep }, output }: Session,
  items: AsyncIterable<T>,
  { total, rate }: Pace,
  write: (item: T) => Promise<void>,
): Promise<void> {
  const startedAt = clock();
  let reportedAt = startedAt;
  let done = 0;
  let chunk: T[] = [];
  const finish = async () => {
    const results = await Promise.allSettled(chunk.map(write));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    done += chunk.length;
    chunk = [];
    if (clock() - reportedAt >= reportEvery) {
      reportedAt = clock();
      output.report(
        { progress: { done, animals: total } },
        `${grouped(done)} of ${counted(total, 'animal')}`,
      );
    }
    const wait = startedAt + (done * 1_000) / rate - clock();
    if (wait > 0) await sleep(wait);
  };
  for await (const item of items) if (chunk.push(item) === atOnce) await finish();
  await finish();
}
