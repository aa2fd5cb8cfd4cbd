import { counted, grouped } from '../command-line/output.ts';
import type { Session } from './pet-command.ts';

/** Animals that are written at the same time. */
const atOnce = 25;
/** Milliseconds between two reports of the progress. */
const reportEvery = 5_000;

interface Changes<T> {
  /** Begins the words of the audit trail. */
  readonly verb: 'import' | 'backfill';
  /** That says what is changed. */
  readonly file: string;
  readonly items: readonly T[];
  /** Items to write a second, at most. */
  readonly rate: number;
  readonly write: (item: T) => Promise<void>;
  /** What was written so far. Empty if nothing was. */
  readonly written: () => string;
}

/** Changes many animals, with an audit line when it begins and one when it ends, however it ends. */
export async function changeMany<T>(session: Session, changes: Changes<T>): Promise<void> {
  const { service, output } = session;
  const { verb, file, items, written } = changes;
  const audit = async (did: string, detail: string) =>
    service.report({ file }, await service.auditLine(did, detail));
  await audit(`began to ${verb}`, counted(items.length, 'animal'));
  try {
    await writeEach(session, changes);
  } catch (error) {
    output.note(`The ${verb} has stopped. The same command does what is missing.`, 'yellow');
    throw error;
  } finally {
    if (written() !== '') await audit(`${verb}ed`, written());
  }
}

/** Writes items, a few at a time and not too many a second, and reports the progress. */
async function writeEach<T>(
  { service: { clock, sleep }, output }: Session,
  { items, rate, write }: Changes<T>,
): Promise<void> {
  const startedAt = clock();
  let reportedAt = startedAt;
  for (let done = 0; done < items.length;) {
    const results = await Promise.allSettled(items.slice(done, done + atOnce).map(write));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    done += results.length;
    if (clock() - reportedAt >= reportEvery) {
      reportedAt = clock();
      const text = `${grouped(done)} of ${counted(items.length, 'animal')}`;
      output.report({ progress: { done, animals: items.length } }, text);
    }
    const wait = startedAt + (done * 1_000) / rate - clock();
    if (wait > 0) await sleep(wait);
  }
}
