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
  list: 1.31,
  get: 1.31,
  create: 1.31,
  authorize: 1.26,
};

/** A figure that has a limit, over the runs. */
interface Budget {
  readonly name: string;
  readonly values: readonly number[];
  readonly goal?: number | undefined;
  readonly atMost: number;
}

/** A goal is for as many runs: one run is at the mercy of the machine. */
const runsOfGoal = 10;

function budgets({ first, warm }: Results): Budget[] {
  const models: readonly ProcessorModel[] = ['burst', 'share'];
  return [
    ...(first[0]?.ratios ?? []).flatMap(({ name, peer, goal, atMost }, index) =>
      models.map((model) => ({
        name: `${name}, relative to ${peer}, ${model}`,
        values: first.map(({ ratios }) => ratios[index]!.times[model]),
        goal,
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
    .map(({ name, values, goal, atMost }) => ({
      name,
      typical: median(values),
      limit: goal !== undefined && values.length >= runsOfGoal ? goal : round(atMost * tolerance, 3),
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
      ['', 'lowest', 'median', 'highest', 'goal', 'at most'],
      budgets(results).map(({ name, values, goal, atMost }) => [
        name,
        Math.min(...values),
        median(values),
        Math.max(...values),
        goal ?? '',
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
