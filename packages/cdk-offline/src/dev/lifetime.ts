import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** npm forwards Ctrl-C, so one key press arrives twice. */
const sameKeyPressMs = 300;
const parentCheckMs = 500;
/** Limit for a clean stop. */
const stopTimeoutMs = 5_000;

/**
 * Stops the service and ends this process after INT, TERM or HUP, when its output is closed, and when the program that
 * started it has ended: npm with the shell of its scripts, or another process. A process that a shell has started may
 * outlive it, in the background. A second signal ends the process at once.
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
  void startedBy(ppid).then((pids) => {
    setInterval(() => {
      if (pids.length > 0 && (process.ppid !== ppid || !pids.every(isRunning))) end(0);
    }, parentCheckMs).unref();
  });
}

/** The processes that this one must not outlive. */
async function startedBy(parent: number): Promise<number[]> {
  const args = ['-o', 'ppid=,comm=', '-p', String(parent)];
  const printed = await promisify(execFile)('ps', args).catch(() => undefined);
  const [, grandparent, command = ''] = /^\s*(\d+)\s+(.*?)\s*$/m.exec(printed?.stdout ?? '') ?? [];
  if (!/(?:^|[/-])(?:ba|da|k|z|a)?sh$/.test(command)) return [parent];
  return process.env['npm_lifecycle_event'] === undefined ? [] : [parent, Number(grandparent)];
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
