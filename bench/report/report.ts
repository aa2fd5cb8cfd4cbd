import type { ByModel } from '../harness/cold-starts.ts';
import { median, round } from '../harness/stats.ts';
import type { Calls, measureCalls } from '../measures/calls.ts';
import type { FirstResponses } from '../measures/first-response.ts';
import type { Ratio } from '../measures/ratio.ts';
import type { WarmResult } from '../measures/warm-process.ts';
import { type GeneratedParts, table } from './generated.ts';
import { type Limit, limitOf, runsOfGoal } from './limits.ts';

/** The parts that were measured, once for each run. */
export interface Results {
  /** The machine before the first run. */
  readonly machine: string;
  readonly first: readonly FirstResponses[];
  readonly warm: readonly (readonly WarmResult[])[];
  /** Undefined if it was not measured. It is the same in each run. */
  readonly calls: Awaited<ReturnType<typeof measureCalls>> | undefined;
}

/** A ratio over the runs. */
interface Spread extends Limit {
  readonly of: Ratio;
  readonly lowest: number;
  readonly median: number;
  readonly highest: number;
  readonly runs: number;
}

function spreads({ first, warm }: Results): Spread[] {
  const runs = [...first.map(({ ratios }) => ratios), ...warm.map((run) => run.map(({ ratio }) => ratio))];
  const nameOf = ({ operation, peer, measure }: Ratio) => `${operation} / ${peer}, ${measure}`;
  return [...Map.groupBy(runs.flat(), nameOf).values()].map((ratios) => {
    const values = ratios.map(({ value }) => value);
    const of = ratios[0]!;
    const [lowest, highest] = [Math.min(...values), Math.max(...values)];
    return { of, lowest, median: median(values), highest, runs: values.length, ...limitOf(of) };
  });
}

const described = ({ of: { operation, peer, measure } }: Spread): string =>
  `${operation}, ${measure === 'warm' ? 'warm' : `first response, ${measure}`}, relative to ${peer}`;

/** A sentence for each limit that the median of the runs exceeds. @param tolerance factor of every limit */
export function exceeded(results: Results, tolerance: number): string[] {
  return spreads(results)
    .map((spread) => ({
      ...spread,
      limit:
        spread.goal !== undefined && spread.runs >= runsOfGoal
          ? spread.goal
          : round(spread.atMost * tolerance, 2),
    }))
    .filter((spread) => spread.median > spread.limit)
    .map((spread) => `${described(spread)}: ${spread.median}, at most ${spread.limit}.`);
}

/** The tables of bench/README.md by name. Figures are medians over the runs. */
export function tables(results: Results): GeneratedParts {
  const { machine, first, warm, calls } = results;
  const all = spreads(results);
  return {
    machine,
    comparison: table(
      ['', 'list', 'create with `Idempotency-Key`'],
      [...ratioRows(all), ...(calls === undefined ? [] : callRows(calls))],
    ),
    ...(first.length > 0 && { 'first-response': firstTable(first) }),
    ...(warm.length > 0 && { warm: warmTable(warm) }),
    limits: table(
      ['', 'lowest', 'median', 'highest', 'goal', 'at most'],
      all.map((each) => [
        described(each),
        each.lowest,
        each.median,
        each.highest,
        each.goal ?? '',
        each.atMost,
      ]),
    ),
  };
}

/** The median over the runs, and their spread. */
function ratioRows(all: readonly Spread[]): string[][] {
  const cell = (measure: Ratio['measure'], operation: Ratio['operation']): string => {
    const found = all.find(
      ({ of }) => of.measure === measure && of.operation === operation && of.peer === 'parts',
    );
    return found === undefined ? '' : `${found.median} (${found.lowest} to ${found.highest})`;
  };
  const labels = {
    warm: 'Processor time of a warm request, compared with the parts',
    burst: 'First response of a new environment, compared with the parts',
  } as const;
  return (['warm', 'burst'] as const).map((measure) => [
    labels[measure],
    cell(measure, 'list'),
    cell(measure, 'create with Idempotency-Key'),
  ]);
}

function callRows({ list, create }: Results['calls'] & {}): string[][] {
  const figures = [
    ['Calls to DynamoDB, this service / the parts', (of: Calls) => of.calls],
    ['Of these one after the other', (of: Calls) => of.inSequence],
    ['Read units', (of: Calls) => of.readUnits],
    ['Write units', (of: Calls) => of.writeUnits],
  ] as const;
  return figures.map(([label, figure]) => [
    label,
    ...[list, create].map(({ own, parts }) => `${figure(own)} / ${figure(parts)}`),
  ]);
}

function firstTable(runs: readonly FirstResponses[]): string {
  const overRuns = (times: (run: FirstResponses) => ByModel): [burst: number, share: number] => {
    const all = runs.map(times);
    return [median(all.map(({ burst }) => burst)), median(all.map(({ share }) => share))];
  };
  return table(
    ['ms', 'burst', 'share', 'KB'],
    runs[0]!.responses.map(({ name, kilobytes }, index) => [
      name,
      ...overRuns((run) => run.responses[index]!.response),
      kilobytes,
    ]),
  );
}

function warmTable(runs: readonly (readonly WarmResult[])[]): string {
  const results = runs.flat();
  const typical = (found: readonly WarmResult[], figure: (result: WarmResult) => number) =>
    found.length === 0 ? '' : round(median(found.map(figure)), 2);
  const rows = Map.groupBy(results, ({ ratio }) => ratio.operation);
  return table(
    ['ms of processor time', 'this service', 'parts', 'bare handler'],
    Array.from(rows, ([operation, found]) => {
      const of = (peer: Ratio['peer']) => found.filter(({ ratio }) => ratio.peer === peer);
      return [
        operation,
        typical(found, ({ cpu }) => cpu),
        typical(of('parts'), ({ peerCpu }) => peerCpu),
        typical(of('bare handler'), ({ peerCpu }) => peerCpu),
      ];
    }),
  );
}
