import { writeFile } from 'node:fs/promises';
import { arch, availableParallelism, cpus, loadavg, platform, release, setPriority, totalmem } from 'node:os';

/** The machine, in a sentence, and whether it was busy. */
export function describeMachine(): string {
  const cores = availableParallelism();
  const load = Number(loadavg()[0]?.toFixed(2));
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const system = `${platform()} ${release()}, ${arch()}, Node.js ${process.version}`;
  const date = new Date().toISOString().slice(0, 10);
  const machine = `${cpus()[0]?.model.trim()}, ${cores} cores, ${memory}, ${system}, load ${load}, ${date}.`;
  return load > cores
    ? `${machine} Other work kept it busy, so the milliseconds are higher than on a quiet machine.`
    : machine;
}

/** Does work while other work of the machine waits, if this process may do that. https://man7.org/linux/man-pages/man7/sched.7.html */
export async function withPriority<T>(work: () => Promise<T>): Promise<T> {
  await setNiceness(-20);
  try {
    return await work();
  } finally {
    await setNiceness(0);
  }
}

async function setNiceness(niceness: number): Promise<void> {
  try {
    setPriority(niceness);
    // Among sessions the kernel decides by that of the session, unless it does not group processes by session.
    await writeFile('/proc/self/autogroup', String(niceness));
  } catch {
    // The process is not root, or this is not Linux.
  }
}
