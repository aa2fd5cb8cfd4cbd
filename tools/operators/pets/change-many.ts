import { ToolError } from '../command-line/errors.ts';
import { counted } from '../command-line/output.ts';
import type { Session } from './pet-command.ts';
import { changeProgress } from './progress.ts';

/** Animals that are written at the same time. */
const atOnce = 25;
/** Milliseconds that writes which are under way get to end after Ctrl-C. */
const timeToEnd = 2_000;

interface Changes<T> {
  /** What the audit trail says before and after: `began to import`, `imported`. */
  readonly verb: readonly [infinitive: string, did: string];
  /** That says what is changed. */
  readonly file: string;
  /** What the beginning also says, such as the ID of an import. */
  readonly as?: string;
  readonly items: readonly T[];
  /** Items to write a second, at most. */
  readonly rate: number;
  readonly write: (item: T) => Promise<void>;
  /** What was written so far. Empty if nothing was. */
  readonly written: () => string;
  /** What needed no write so far, such as `12 already there`. */
  readonly unchanged?: () => string | undefined;
}

/** Changes many animals, with an audit line when it begins and one when it ends, however it ends: also after Ctrl-C. */
export async function changeMany<T>(session: Session, changes: Changes<T>): Promise<void> {
  const { service, output } = session;
  const { verb, file, as, items, written } = changes;
  const audit = async (did: string, detail: string) =>
    service.report({ file }, await service.auditLine(did, detail));
  await audit(
    `began to ${verb[0]}`,
    counted(items.length, 'animal') + (as === undefined ? '' : `, as ${as}`),
  );
  const state: State = { underWay: undefined, isStopped: false };
  let ending: Promise<void> | undefined;
  /** Writes at most one line of the audit trail. */
  const end = (more = ''): Promise<void> =>
    (ending ??=
      written() + more === '' ? Promise.resolve() : audit(verb[1], `${written() || 'nothing'}${more}`));
  session.onInterruption(async () => {
    state.isStopped = true;
    const isSettled = await Promise.race([
      Promise.resolve(state.underWay).then(() => true),
      service.sleep(timeToEnd).then(() => false),
    ]);
    await end(isSettled ? ', then interrupted' : `, then interrupted with up to ${atOnce} more under way`);
  });
  try {
    await writeEach(session, changes, state);
  } catch (error) {
    if (!state.isStopped)
      output.note(`The ${verb[0]} has stopped. The same command does what is missing.`, 'yellow');
    throw error;
  } finally {
    await end();
  }
}

interface State {
  /** Writes that have not ended. */
  underWay: Promise<unknown> | undefined;
  isStopped: boolean;
}

/** Writes items, a few at a time and not too many a second, and reports the progress. */
async function writeEach<T>(
  session: Session,
  { items, rate, write, unchanged }: Changes<T>,
  state: State,
): Promise<void> {
  const { clock, sleep } = session.service;
  const report = changeProgress(session, items.length);
  const startedAt = clock();
  for (let done = 0; done < items.length;) {
    if (state.isStopped) throw new ToolError('interrupted', 'Interrupted.');
    const writes = Promise.allSettled(items.slice(done, done + atOnce).map(write));
    state.underWay = writes;
    const results = await writes;
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    done += results.length;
    report(done, unchanged?.());
    const wait = startedAt + (done * 1_000) / rate - clock();
    if (wait > 0) await sleep(wait);
  }
}
