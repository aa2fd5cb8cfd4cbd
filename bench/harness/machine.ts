import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os';

/** The machine, in a sentence, and a warning when it is so busy that the figures are noise. */
export function describeMachine(): string {
  const cores = availableParallelism();
  const load = Number(loadavg()[0]?.toFixed(2));
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const system = `${platform()} ${release()}, ${arch()}, Node.js ${process.version}`;
  const date = new Date().toISOString().slice(0, 10);
  const machine = `${cpus()[0]?.model.trim()}, ${cores} cores, ${memory}, ${system}, load ${load}, ${date}.`;
  return load > cores ? `${machine} **The machine was busy: repeat before relying on a figure.**` : machine;
}
