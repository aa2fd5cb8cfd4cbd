/** Prints what `startersOf` reads. */
export const psArguments = ['-ww', '-eo', 'pid=,ppid=,pgid=,args='];

/** npm sets its title, the others run as a script of Node.js. */
const packageManager = /^(?:\S*node(?:\.exe)?\s+)?(?:\S*\/)?(?:npm|npx|pnpm|yarn)(?:\W|$)/;

/** Above a process: a script that starts it, a shell, and the package manager. */
const furthest = 3;

interface Process {
  readonly parent: number;
  readonly group: number;
  readonly command: string;
}

/**
 * The processes from above a process up to the package manager whose script it is a part of, the nearest first. Empty when
 * there is none: it was started in another way, by an interactive shell or to run in the background, which makes it the
 * leader of a process group.
 *
 * @param printed by `ps` with `psArguments`
 */
export function startersOf(pid: number, printed: string): number[] {
  const processes = new Map<number, Process>();
  for (const line of printed.matchAll(/^\s*(\d+)\s+(\d+)\s+(\d+)\s+(.*)$/gm)) {
    const [, own, parent, group, command = ''] = line;
    processes.set(Number(own), { parent: Number(parent), group: Number(group), command });
  }
  const own = processes.get(pid);
  if (own === undefined || own.group === pid) return [];
  const starters: number[] = [];
  for (let next = own.parent; starters.length < furthest;) {
    const above = processes.get(next);
    if (above === undefined) return [];
    starters.push(next);
    if (packageManager.test(above.command)) return starters;
    next = above.parent;
  }
  return [];
}
