import type { ByModel } from '../harness/cold-starts.ts';
import type { Machine } from '../harness/machine.ts';
import type { FirstResponses } from '../measures/first-response.ts';
import type { Lever } from '../measures/levers.ts';
import type { WarmResult } from '../measures/warm-process.ts';
import { type GeneratedParts, table } from './generated.ts';

/** The results of each part with the machine. */
export interface Results {
  readonly first?: Measured<FirstResponses>;
  readonly levers?: Measured<readonly Lever[]>;
  readonly warm?: Measured<readonly WarmResult[]>;
}

export interface Measured<T> {
  readonly machine: Machine;
  readonly results: T;
}

/** Milliseconds of processor time outside the calls to DynamoDB. */
const warmBudget = 0.3;

/** A sentence for each budget that a result exceeds. */
export function exceeded({ first, warm }: Results): string[] {
  return [
    ...(first?.results.budgets ?? []).flatMap(({ name, peer, times, atMost }) =>
      (['burst', 'share'] as const)
        .filter((model) => times[model] > atMost[model])
        .map((model) => `${name} is ${times[model]} × ${peer} (${model}), at most ${atMost[model]}.`),
    ),
    ...(warm?.results ?? [])
      .filter(({ cpuOutsideCalls }) => cpuOutsideCalls > warmBudget)
      .map(
        ({ operation, cpuOutsideCalls: ms }) => `${operation} takes ${ms} ms of CPU, at most ${warmBudget}.`,
      ),
  ];
}

const byModel = ({ burst, share }: ByModel) => [burst, share];

/** The tables of docs/performance.md and bench/README.md by name. */
export function tables({ first, levers, warm }: Results): GeneratedParts {
  return {
    ...(first && { machine: machineLine(first.machine), ...firstTables(first.results) }),
    ...(levers && {
      levers: table(
        ['more ms without', 'burst', 'share', 'CPU', 'KB'],
        levers.results.map((lever) => [
          lever.without,
          ...byModel(lever.response),
          lever.cpu,
          lever.kilobytes,
        ]),
      ),
    }),
    ...(warm && {
      warm: table(
        ['median ms', 'latency', 'of a bare handler', 'CPU', 'CPU outside calls'],
        warm.results.map((each) => [
          each.operation,
          each.latency,
          each.bareLatency,
          each.cpu,
          each.cpuOutsideCalls,
        ]),
      ),
    }),
  };
}

function firstTables({ responses, calls, budgets, steps }: FirstResponses): GeneratedParts {
  return {
    'first-response': table(
      ['ms', 'MB', 'burst', 'share', 'KB'],
      responses.map(({ name, memory, response, kilobytes }) => [
        name,
        memory,
        ...byModel(response),
        kilobytes,
      ]),
    ),
    'first-call': table(
      ['ms', 'MB', 'burst', 'share'],
      calls.map(({ name, memory, response }) => [name, memory, ...byModel(response)]),
    ),
    budgets: table(
      ['', 'relative to', 'burst', 'at most', 'share', 'at most'],
      budgets.map(({ name, peer, times, atMost }) => [
        name,
        peer,
        times.burst,
        atMost.burst,
        times.share,
        atMost.share,
      ]),
    ),
    steps: table(
      ['more ms than the line before', 'burst', 'share'],
      steps.map(({ name, more }) => [name, ...byModel(more)]),
    ),
  };
}

function machineLine({ description, cores, load }: Machine): string {
  return load > cores
    ? `${description} **The machine was busy: repeat before relying on a figure.**`
    : description;
}
