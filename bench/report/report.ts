import type { ByModel } from '../harness/cold-starts.ts';
import type { ProcessorModel } from '../harness/lambda.ts';
import { median, round } from '../harness/stats.ts';
import type { FirstResponses } from '../measures/first-response.ts';
import type { WarmResult } from '../measures/warm-process.ts';
import { type GeneratedParts, table } from './generated.ts';

/** The parts that were measured, once for each run. */
export interface Results {
  /** The machine before the first run. */
  readonly machine: string;
  readonly first: readonly FirstResponses[];
  readonly warm: readonly (readonly WarmResult[])[];
}

/** Most processor time of a warm request, relative to that of a bare handler that sends the same calls. */
const warmLimits: Readonly<Record<WarmResult['operation'], number>> = {
  list: 1.4,
  get: 1.36,
  create: 1.38,
  authorize: 1.27,
};

/** A figure that has a limit, over the runs. */
interface Budget {
  readonly name: string;
  readonly values: readonly number[];
  readonly atMost: number;
}

function budgets({ first, warm }: Results): Budget[] {
  const models: readonly ProcessorModel[] = ['burst', 'share'];
  return [
    ...(first[0]?.ratios ?? []).flatMap(({ name, peer, atMost }, index) =>
      models.map((model) => ({
        name: `${name}, relative to ${peer}, ${model}`,
        values: first.map(({ ratios }) => ratios[index]!.times[model]),
        atMost: atMost[model],
      })),
    ),
    ...(warm[0] ?? []).map(({ operation }, index) => ({
      name: `${operation}, warm, CPU relative to bare handler`,
      values: warm.map((run) => run[index]!.ratio),
      atMost: warmLimits[operation],
    })),
  ];
}

/** A sentence for each limit that the median of the runs exceeds. @param tolerance factor of every limit */
export function exceeded(results: Results, tolerance: number): string[] {
  return budgets(results)
    .map((budget) => ({
      ...budget,
      typical: median(budget.values),
      limit: round(budget.atMost * tolerance, 3),
    }))
    .filter(({ typical, limit }) => typical > limit)
    .map(({ name, typical, limit }) => `${name}: ${typical}, at most ${limit}.`);
}

/** The tables of docs/performance.md by name. Figures are medians over the runs. */
export function tables(results: Results): GeneratedParts {
  const { machine, first, warm } = results;
  return {
    machine,
    ...(first.length > 0 && firstTables(first)),
    ...(warm.length > 0 && {
      warm: table(
        ['ms', 'latency', 'bare handler', 'CPU outside calls'],
        warm[0]!.map(({ operation }, index) => {
          const typical = (figure: (result: WarmResult) => number, digits: number) =>
            round(median(warm.map((run) => figure(run[index]!))), digits);
          return [
            operation,
            typical(({ latency }) => latency, 2),
            typical(({ bareLatency }) => bareLatency, 2),
            typical(({ cpuOutsideCalls }) => cpuOutsideCalls, 3),
          ];
        }),
      ),
    }),
    budgets: table(
      ['', 'lowest', 'median', 'highest', 'at most'],
      budgets(results).map(({ name, values, atMost }) => [
        name,
        Math.min(...values),
        median(values),
        Math.max(...values),
        atMost,
      ]),
    ),
  };
}

function firstTables(runs: readonly FirstResponses[]): GeneratedParts {
  const overRuns = (times: (run: FirstResponses) => ByModel): [burst: number, share: number] => {
    const all = runs.map(times);
    return [median(all.map(({ burst }) => burst)), median(all.map(({ share }) => share))];
  };
  const { responses, calls } = runs[0]!;
  return {
    'first-response': table(
      ['ms', 'burst', 'share', 'KB'],
      responses.map(({ name, kilobytes }, index) => [
        name,
        ...overRuns((run) => run.responses[index]!.response),
        kilobytes,
      ]),
    ),
    'first-call': table(
      ['ms', 'burst', 'share'],
      calls.map(({ name }, index) => [name, ...overRuns((run) => run.calls[index]!.response)]),
    ),
  };
}
