import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os';

/** The machine of a measurement. */
export interface Machine {
  readonly description: string;
  readonly cores: number;
  /** Load average of the last minute. Above the number of cores the figures are noise. */
  readonly load: number;
}

export function describeMachine(): Machine {
  const cores = availableParallelism();
  const load = Number(loadavg()[0]?.toFixed(2));
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const system = `${platform()} ${release()}, ${arch()}, Node.js ${process.version}`;
  const date = new Date().toISOString().slice(0, 10);
  const description = `${cpus()[0]?.model.trim()}, ${cores} cores, ${memory}, ${system}, load ${load}, ${date}.`;
  return { description, cores, load };
}
