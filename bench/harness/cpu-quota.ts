import { access, mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A function with this memory has one whole processor: https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html */
const memoryOfOneProcessor = 1_769;

/** The period in which processor time is limited: Lambda's environments have 20 ms in `cpu.max`. */
const periodMicroseconds = 20_000;

/** A Linux control group that limits its processes to the processor share of a function with a given memory. */
export interface CpuQuota {
  /** Writing a process ID to this file adds the process with all of its threads. */
  readonly entrance: string;
  /** @throws Error when the group has a process */
  remove(): Promise<void>;
}

/**
 * @param megabytes memory of the function
 * @throws Error when this process cannot create control groups: it must be root on Linux
 */
export async function startCpuQuota(megabytes: number): Promise<CpuQuota> {
  const quota = Math.round((periodMicroseconds * megabytes) / memoryOfOneProcessor);
  // Version 2 of control groups, then version 1. The weight is the largest: other work of the machine waits.
  const layouts = [
    ['/sys/fs/cgroup', { 'cpu.max': `${quota} ${periodMicroseconds}`, 'cpu.weight': 10_000 }],
    [
      '/sys/fs/cgroup/cpu',
      { 'cpu.cfs_period_us': periodMicroseconds, 'cpu.cfs_quota_us': quota, 'cpu.shares': 262_144 },
    ],
  ] as const;
  for (const [parent, settings] of layouts) {
    const group = join(parent, `animal-store-bench-${process.pid}-${megabytes}`);
    try {
      await mkdir(group);
      for (const [file, value] of Object.entries(settings)) {
        // On another file system, writing would create the file.
        await access(join(group, file));
        await writeFile(join(group, file), String(value));
      }
      return { entrance: join(group, 'cgroup.procs'), remove: () => rmdir(group) };
    } catch {
      await rmdir(group).catch(() => {});
    }
  }
  throw new Error('Cannot create a control group. Run this part of the benchmark on Linux as root.');
}
