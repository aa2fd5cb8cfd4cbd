import { access, mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** At this memory a function has one whole processor: https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html */
const memoryOfOneProcessor = 1_769;

/** Lambda meters processor time in slices of 20 ms: that much of each is `cpu.max` in its environments. */
const periodMicroseconds = 20_000;

/**
 * A control group of Linux, which gives the processes in it as much of the processors as a function of some memory
 * has, by the very means that Lambda does.
 */
export class CpuQuota {
  /** Processes enter by writing their id here. */
  readonly entrance: string;
  readonly #group: string;

  private constructor(group: string) {
    this.#group = group;
    this.entrance = join(group, 'cgroup.procs');
  }

  /** @returns undefined where this process may not make control groups: it has to be root, on Linux */
  static async ofMemory(megabytes: number): Promise<CpuQuota | undefined> {
    const quota = Math.round((periodMicroseconds * megabytes) / memoryOfOneProcessor);
    const name = `animal-store-bench-${process.pid}-${megabytes}`;
    // Version 2 of control groups, and version 1.
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
          // A file that is not there yet would be made where the file system is an ordinary one.
          await access(join(group, file));
          await writeFile(join(group, file), String(value));
        }
        return new CpuQuota(group);
      } catch {
        await rmdir(group);
      }
    }
    return undefined;
  }

  /** @throws Error while a process is in it */
  async remove(): Promise<void> {
    await rmdir(this.#group);
  }
}
