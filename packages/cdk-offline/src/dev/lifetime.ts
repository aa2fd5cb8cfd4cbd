import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { isRunning } from '../system/processes.ts';
import { psArguments, startersOf } from './starters.ts';

/** npm forwards Ctrl-C, so one key press arrives twice. */
const sameKeyPressMs = 300;
const parentCheckMs = 500;
/** Limit for a clean stop. */
const stopTimeoutMs = 5_000;

/**
 * Stops the service and ends this process after INT, TERM or HUP, when its output is closed, and when it runs in a script
 * of npm, pnpm or Yarn and that has ended. Another process that starts it may end before it, which leaves it in the
 * background. A second signal ends the process at once.
 *
 * @param stop stops everything that was started
 */
export function endWith(stop: () => Promise<void>): void {
  let endingSince: number | undefined;
  const end = (exitCode: number): void => {
    if (endingSince !== undefined) {
      if (performance.now() - endingSince > sameKeyPressMs) process.exit(130);
      return;
    }
    endingSince = performance.now();
    setTimeout(() => process.exit(exitCode), stopTimeoutMs).unref();
    stop().then(
      () => process.exit(exitCode),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => end(0));
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => end(1));

  const { ppid } = process;
  void packageManagerOfThis().then((starters) => {
    const timer = setInterval(() => {
      if (starters.length === 0 || (process.ppid === ppid && starters.every(isRunning))) return;
      clearInterval(timer);
      console.error('Ends because the package manager that started it has ended.');
      end(0);
    }, parentCheckMs).unref();
  });
}

/** The processes from the package manager's to the one above this, empty when this is no part of its script. */
async function packageManagerOfThis(): Promise<readonly number[]> {
  if (process.env['npm_lifecycle_event'] === undefined) return [];
  const printed = await promisify(execFile)('ps', psArguments, { maxBuffer: Infinity }).catch(
    () => undefined,
  );
  return startersOf(process.pid, printed?.stdout ?? '');
}
