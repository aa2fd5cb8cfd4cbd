import { access, mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A function with this memory has one whole processor: https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html */
const memoryOfOneProcessor = 1_769;

/** The period in which processor time is limited: Lambda's environments have 20 ms in `cpu.max`. */
const periodMicroseconds = 20_000;

/** A Linux control group that limits its processes to the processor share of a function with a given memory. */
export class CpuQuota {
  /** Writing a process ID to this file adds the process. */
  readonly entrance: string;
  readonly #group: string;

  private constructor(group: string) {
    this.#group = group;
    this.entrance = join(group, 'cgroup.procs');
  }

  /**
   * @param megabytes memory of the function
   * @throws Error when this process cannot create control groups: it must be root on Linux
   */
  static async ofMemory(megabytes: number): Promise<CpuQuota> {
    const quota = Math.round((periodMicroseconds * megabytes) / memoryOfOneProcessor);
    const name = `animal-store-bench-${process.pid}-${megabytes}`;
    // Version 2 of control groups, then version 1.
    const layouts = [
      { parent: '/sys/fs/cgroup', settings: { 'cpu.max': `${quota} ${periodMicroseconds}` } },
      {
        parent: '/sys/fs/cgroup/cpu',
        settings: { 'cpu.cfs_period_us': periodMicroseconds, 'cpu.cfs_quota_us': quota },
      },
    ];
    for (const { parent, settings } of layouts) {
      const group = join(parent, name);
      try {
        await mkdir(group);
      } catch {
        continue;
      }
      try {
        for (const [file, value] of Object.entries(settings)) {
          // On another file system, writing would create the file.
          await access(join(group, file));
          await writeFile(join(group, file), String(value));
        }
        return new CpuQuota(group);
      } catch {
        await rmdir(group);
      }
    }
    throw new Error('Cannot create a control group. Run this part of the benchmark on Linux as root.');
  }

  /** Moves a process with all of its threads into the group. */
  async add(pid: number): Promise<void> {
    await writeFile(this.entrance, String(pid));
  }

  /** @throws Error when the group has a process */
  async remove(): Promise<void> {
    await rmdir(this.#group);
  }
}
