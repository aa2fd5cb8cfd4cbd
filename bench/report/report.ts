import type { ByModel } from '../harness/cold-starts.ts';
import type { FirstResponses } from '../measures/first-response.ts';
import type { Lever } from '../measures/levers.ts';
import type { WarmResult } from '../measures/warm-process.ts';
import { type GeneratedParts, table } from './generated.ts';

/** The results of the parts that were measured. */
export interface Results {
  /** The machine of the first responses. */
  readonly machine?: string;
  readonly first?: FirstResponses;
  readonly levers?: readonly Lever[];
  readonly warm?: readonly WarmResult[];
}

/** Milliseconds of processor time outside the calls to DynamoDB. */
const warmBudget = 0.3;

/** A sentence for each budget that a result exceeds. */
export function exceeded({ first, warm }: Results): string[] {
  return [
    ...(first?.budgets ?? []).flatMap(({ name, peer, times, atMost }) =>
      (['burst', 'share'] as const)
        .filter((model) => times[model] > atMost[model])
        .map((model) => `${name} is ${times[model]} × ${peer} (${model}), at most ${atMost[model]}.`),
    ),
    ...(warm ?? [])
      .filter(({ cpuOutsideCalls }) => cpuOutsideCalls > warmBudget)
      .map(
        ({ operation, cpuOutsideCalls: ms }) => `${operation} takes ${ms} ms of CPU, at most ${warmBudget}.`,
      ),
  ];
}

const byModel = ({ burst, share }: ByModel) => [burst, share];

/** The tables of docs/performance.md and bench/README.md by name. */
export function tables({ machine, first, levers, warm }: Results): GeneratedParts {
  return {
    ...(machine && { machine }),
    ...(first && firstTables(first)),
    ...(levers && {
      levers: table(
        ['more ms without', 'burst', 'share', 'CPU', 'KB'],
        levers.map((lever) => [lever.without, ...byModel(lever.response), lever.cpu, lever.kilobytes]),
      ),
    }),
    ...(warm && {
      warm: table(
        ['median ms', 'latency', 'of a bare handler', 'CPU', 'CPU outside calls'],
        warm.map((each) => [each.operation, each.latency, each.bareLatency, each.cpu, each.cpuOutsideCalls]),
      ),
    }),
  };
}

function firstTables({ responses, calls, budgets, steps }: FirstResponses): GeneratedParts {
  return {
    'first-response': table(
      ['ms', 'burst', 'share', 'KB'],
      responses.map(({ name, response, kilobytes }) => [name, ...byModel(response), kilobytes]),
    ),
    'first-call': table(
      ['ms', 'burst', 'share'],
      calls.map(({ name, response }) => [name, ...byModel(response)]),
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
