import type { Machine } from '../harness/machine.ts';
import type { FirstCall, FirstResponse, Lever, MemoryResult } from '../measures/first-response.ts';
import type { GrowthResult } from '../measures/growth.ts';
import type { WarmResult } from '../measures/warm.ts';
import { type GeneratedParts, table } from './generated.ts';

/** The results of each part with the machine. */
export interface Results {
  readonly first?: Measured<{
    readonly functions: readonly FirstResponse[];
    readonly calls: readonly FirstCall[];
  }>;
  readonly levers?: Measured<readonly Lever[]>;
  readonly memory?: Measured<readonly MemoryResult[]>;
  readonly warm?: Measured<readonly WarmResult[]>;
  readonly growth?: Measured<readonly GrowthResult[]>;
}

export interface Measured<T> {
  readonly machine: Machine;
  readonly results: T;
}

/** The tables of docs/performance.md and bench/README.md by name. */
export function tables(results: Results): GeneratedParts {
  const { first, levers, memory, warm, growth } = results;
  return {
    ...(first && {
      machine: machineLine(first.machine),
      'first-response': firstResponseTable(first.results.functions),
      baseline: baselineTable(first.results.functions),
      'first-call': firstCallTable(first.results.calls),
    }),
    ...(levers && { levers: leverTable(levers.results) }),
    ...(memory && { memory: memoryTable(memory.results) }),
    ...(warm && { warm: warmTable(warm.results) }),
    ...(growth && { growth: growthTable(growth.results) }),
  };
}

function machineLine({ processor, cores, memoryGiB, system, node, load, date }: Machine): string {
  const line = `${processor}, ${cores} cores, ${memoryGiB} GiB, ${system}, Node.js ${node}, load ${load}, ${date}.`;
  return load > cores ? `${line} **The machine was busy: repeat before relying on a figure.**` : line;
}

function firstResponseTable(results: readonly FirstResponse[]): string {
  return table(
    ['ms', 'MB', 'init × empty', 'burst', 'share'],
    results.map(({ name, memory, timesEmpty, response }) => [
      name,
      memory,
      timesEmpty,
      response.burst,
      response.share,
    ]),
  );
}

function baselineTable(results: readonly FirstResponse[]): string {
  return table(
    ['× baseline', 'burst', 'share'],
    results.flatMap(({ name, timesBaseline }) =>
      timesBaseline === undefined ? [] : [[name, timesBaseline.burst, timesBaseline.share]],
    ),
  );
}

function firstCallTable(results: readonly FirstCall[]): string {
  return table(
    ['ms', 'MB', 'burst', 'share'],
    results.map(({ name, memory, response }) => [name, memory, response.burst, response.share]),
  );
}

function leverTable(results: readonly Lever[]): string {
  return table(
    ['more ms without', 'init', 'burst', 'share', 'CPU', 'KB'],
    results.map(({ without, init, response, cpu, kilobytes }) => [
      without,
      init,
      response.burst,
      response.share,
      cpu,
      kilobytes,
    ]),
  );
}

function memoryTable(results: readonly MemoryResult[]): string {
  return table(
    ['', 'MB', 'burst', 'share', 'warm p50', 'p99', 'US $ per million'],
    results.map(({ entry, memory, response, p50, p99, price }) => [
      entry,
      memory,
      response.burst,
      response.share,
      p50,
      p99,
      price,
    ]),
  );
}

function warmTable(results: readonly WarmResult[]): string {
  return table(
    ['ms', 'p50', 'p99', 'bare p50', 'ratio', 'CPU', 'CPU outside calls'],
    results.map(({ operation, p50, p99, bareP50, ratio, cpu, cpuOutsideCalls }) => [
      operation,
      p50,
      p99,
      bareP50,
      ratio,
      cpu,
      cpuOutsideCalls,
    ]),
  );
}

function growthTable(results: readonly GrowthResult[]): string {
  return table(
    ['animals', 'filter', 'page', 'p50 ms', 'read units'],
    results.map(({ animals, filter, page, latency, units }) => [animals, filter, page, latency, units]),
  );
}
