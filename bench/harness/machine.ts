import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, loadavg, platform, totalmem } from 'node:os';

/** The machine of a measurement. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly system: string;
  readonly node: string;
  /** Load average of the last minute. Above the number of cores the figures are noise. */
  readonly load: number;
  readonly date: string;
}

export function describeMachine(): Machine {
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: systemName(),
    node: process.version,
    load: Number(loadavg()[0]?.toFixed(2)),
    date: new Date().toISOString().slice(0, 10),
  };
}

function systemName(): string {
  try {
    const name = /^PRETTY_NAME="(.+)"$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1];
    return `${name ?? platform()}, ${arch()}`;
  } catch {
    return `${platform()}, ${arch()}`;
  }
}
