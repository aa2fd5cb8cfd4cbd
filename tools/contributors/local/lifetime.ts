import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

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
  void startersOfThis().then((starters) => {
    const timer = setInterval(() => {
      if (starters.length === 0 || (process.ppid === ppid && starters.every(isRunning))) return;
      clearInterval(timer);
      console.error('Ends because the package manager that started it has ended.');
      end(0);
    }, parentCheckMs).unref();
  });
}

/** npm sets its title, the others run as a script of Node.js. */
const packageManager = /^(?:\S*node(?:\.exe)?\s+)?(?:\S*\/)?(?:npm|npx|pnpm|yarn)(?:\W|$)/;

/** Above a process: a script that starts it, a shell, and the package manager. */
const furthest = 3;

/**
 * The processes from above this one up to the package manager whose script it is a part of. Empty when there is none: it was
 * started in another way, by an interactive shell or to run in the background, which makes it the leader of a process group.
 */
async function startersOfThis(): Promise<readonly number[]> {
  if (process.env['npm_lifecycle_event'] === undefined) return [];
  const args = ['-ww', '-eo', 'pid=,ppid=,pgid=,args='];
  const printed = await promisify(execFile)('ps', args, { maxBuffer: Infinity }).catch(() => undefined);
  const lines = (printed?.stdout ?? '').matchAll(/^\s*(\d+)\s+(\d+)\s+(\d+)\s+(.*)$/gm);
  const processes = new Map(
    Array.from(lines, ([, pid, parent, group, command = '']) => [
      Number(pid),
      { parent: Number(parent), group: Number(group), command },
    ]),
  );
  if (processes.get(process.pid)?.group === process.pid) return [];
  const starters: number[] = [];
  for (let next = process.ppid; starters.length < furthest;) {
    const above = processes.get(next);
    if (above === undefined) return [];
    starters.push(next);
    if (packageManager.test(above.command)) return starters;
    next = above.parent;
  }
  return [];
}

/** Whether the process exists, also as one of another user. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
