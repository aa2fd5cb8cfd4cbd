import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** npm forwards Ctrl-C, so one key press arrives twice. */
const sameKeyPressMs = 300;
const ancestorCheckMs = 500;
/** Limit for a clean stop. */
const stopTimeoutMs = 5_000;

/**
 * Stops the service and ends this process after a signal, when its output is closed, or when npm or the launcher that
 * started it has ended. A second signal ends it at once.
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
  for (const signal of signals) process.on(signal, () => end(0));
  // The terminal, or the command that reads the output, has ended.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => end(1));

  void ancestors().then((pids) => {
    if (pids.length === 0) return;
    setInterval(() => {
      if (process.ppid !== pids[0] || !pids.every(isRunning)) end(1);
    }, ancestorCheckMs).unref();
  });
}

/**
 * The processes that this one must not outlive, its parent first: npm and the shell of its scripts, or the launcher.
 * Empty when the tool was started directly, because then it may run in the background.
 */
async function ancestors(): Promise<number[]> {
  const { ppid: parent, env } = process;
  if (env['LAUNCHER_PID'] === String(parent)) return [parent];
  if (env['npm_lifecycle_event'] === undefined) return [];
  const printed = await promisify(execFile)('ps', ['-o', 'ppid=,comm=', '-p', String(parent)]).catch(
    () => undefined,
  );
  const [, grandparent, command = ''] = /^\s*(\d+)\s+(.*?)\s*$/m.exec(printed?.stdout ?? '') ?? [];
  const isShell = /(?:^|[/-])(?:ba|da|k|z|a)?sh$/.test(command);
  return isShell ? [parent, Number(grandparent)] : [parent];
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
