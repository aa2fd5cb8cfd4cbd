import type { Machine } from '../harness/machine.ts';
import { round } from '../harness/stats.ts';
import type { ColdStartResult } from '../measures/cold-start.ts';
import type { EconomyResult } from '../measures/economy.ts';
import type { GrowthResult } from '../measures/growth.ts';
import type { LoadResult } from '../measures/load.ts';
import type { MemoryResult } from '../measures/memory.ts';
import type { ProfileResult } from '../measures/profile.ts';
import type { WarmResult } from '../measures/warm.ts';
import { markdownTable } from '../../tools/generated.ts';
import { bars, lines } from './svg.ts';

/** What was measured, each part with the machine it was measured on. */
export interface Results {
  readonly profile?: Measured<readonly ProfileResult[]>;
  readonly coldStart?: Measured<readonly ColdStartResult[]>;
  readonly memory?: Measured<readonly MemoryResult[]>;
  readonly warm?: Measured<readonly WarmResult[]>;
  readonly economy?: Measured<readonly EconomyResult[]>;
  readonly growth?: Measured<readonly GrowthResult[]>;
  readonly load?: Measured<LoadResult>;
}

export interface Measured<T> {
  readonly machine: Machine;
  readonly results: T;
}

/** Numbers as people write them; `–` where there is none. */
function table(
  headings: readonly string[],
  rows: readonly (readonly (string | number | undefined)[])[],
): string {
  const text = (cell: string | number | undefined): string =>
    typeof cell === 'number' ? cell.toLocaleString('en-US') : (cell ?? '–');
  return markdownTable(
    headings,
    rows.map((row) => row.map(text)),
  );
}

/** The budget, and what is measured against it. */
const budget = { timesEmpty: 1.5, startKB: 150, listingRatio: 1.25, cpuOutsideCalls: 0.3 };

/** Tables by name, as docs/performance.md has them. */
export function tables(results: Results): Readonly<Record<string, string>> {
  const { profile, coldStart, memory, warm, economy, growth, load } = results;
  return {
    ...(coldStart && { machine: machineTable(coldStart.machine), ...coldStartTables(coldStart.results) }),
    ...(profile && { profile: profileTable(profile.results) }),
    ...(memory && { memory: memoryTable(memory.results) }),
    ...(warm && { warm: warmTable(warm.results) }),
    ...(economy && { economy: economyTable(economy.results) }),
    ...(growth && { growth: growthTable(growth.results) }),
    ...(load && { load: loadTable(load.results) }),
    ...((coldStart ?? warm ?? growth) && { budget: budgetTable(results) }),
  };
}

/** Plots by file name. */
export function plots({ coldStart, load }: Results): Readonly<Record<string, string>> {
  return {
    ...(coldStart && {
      'cold-start.svg': coldStartBars(
        'Process start to the first request for an event, median (ms)',
        coldStart.results,
        ['reference', 'function', 'peer'],
      ),
      'levers.svg': coldStartBars(
        'The listing: what each step gave, process start to the first request for an event, median (ms)',
        coldStart.results,
        ['lever'],
      ),
    }),
    ...(load && {
      'load.svg': lines(
        'The whole service on one machine: latency by requests under way',
        [
          {
            label: 'p50',
            colour: 'function',
            points: load.results.steps.map((step) => [step.concurrency, step.p50]),
          },
          {
            label: 'p99',
            colour: 'peer',
            points: load.results.steps.map((step) => [step.concurrency, step.p99]),
          },
        ],
        { x: 'requests under way', y: 'ms' },
      ),
    }),
  };
}

function coldStartBars(
  title: string,
  results: readonly ColdStartResult[],
  groups: readonly ColdStartResult['group'][],
): string {
  const rows = results
    .filter(({ group }) => groups.includes(group))
    .map(({ name, init, timesEmpty, group }) => ({
      label: name,
      value: init,
      note: `${init} (${timesEmpty} ×)`,
      colour: group,
    }));
  const mark = { value: results[0]!.init * budget.timesEmpty, label: `${budget.timesEmpty} × empty` };
  return bars(title, rows, mark);
}

function machineTable({ processor, cores, memoryGiB, system, node, load, date }: Machine): string {
  return table(
    ['processor', 'cores', 'memory', 'system', 'Node.js', 'load before', 'date'],
    [[processor, cores, `${memoryGiB} GiB`, system, node, load, date]],
  );
}

function coldStartTables(results: readonly ColdStartResult[]): Record<string, string> {
  const rows = (...groups: readonly ColdStartResult['group'][]): string =>
    table(
      ['', 'init ms', '× empty', 'fastest', 'p90', 'first answer ms', 'peak MiB', 'KB at start', 'KB in all'],
      results
        .filter(({ group }) => groups.includes(group))
        .map((each) => [
          each.name,
          each.init,
          each.timesEmpty,
          each.fastest,
          each.p90,
          each.answer,
          each.memory,
          each.startKB,
          each.allKB,
        ]),
    );
  return {
    'cold-start': rows('reference', 'function', 'peer'),
    levers: rows('lever'),
    'not-kept': rows('not kept'),
  };
}

function profileTable(results: readonly ProfileResult[]): string {
  const ways = Object.keys(results[0]?.milliseconds ?? {});
  return table(
    ['ms', ...ways],
    results.map(({ part, milliseconds }) => [part, ...ways.map((way) => milliseconds[way])]),
  );
}

function memoryTable(results: readonly MemoryResult[]): string {
  return table(
    ['memory MB', 'first answer ms', 'warm p50 ms', 'p99', 'GB-s per million warm requests'],
    results.map(({ memory, firstAnswer, p50, p99, gbSecondsPerMillion }) => [
      memory,
      firstAnswer,
      p50,
      p99,
      gbSecondsPerMillion,
    ]),
  );
}

function warmTable(results: readonly WarmResult[]): string {
  return table(
    [
      '',
      'p50 ms',
      'p99',
      'bare, same calls: p50',
      'p99',
      'bare, the read alone: p50',
      'bare, the limit alone: p50',
      'ratio of p50',
      'CPU ms',
      'CPU outside calls',
    ],
    results.map((each) => [
      each.operation,
      each.p50,
      each.p99,
      each.bareP50,
      each.bareP99,
      each.singleP50,
      each.limitP50,
      each.ratio,
      each.cpu,
      each.cpuOutsideCalls,
    ]),
  );
}

function economyTable(results: readonly EconomyResult[]): string {
  return table(
    ['', 'calls (units)', 'read units', 'write units'],
    results.map(({ operation, calls, readUnits, writeUnits }) => [
      operation,
      calls.join(', '),
      readUnits,
      writeUnits,
    ]),
  );
}

function growthTable(results: readonly GrowthResult[]): string {
  return table(
    ['animals', 'filter', 'page', 'p50 ms', 'read units'],
    results.map(({ animals, filter, page, latency, units }) => [animals, filter, page, latency, units]),
  );
}

function loadTable({ steps, sustained, errorBudget }: LoadResult): string {
  const percent = (share: number | undefined): string | undefined =>
    share === undefined ? undefined : `${Math.round(share * 100)} %`;
  const rows = table(
    [
      'under way',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'errors',
      'gateway and functions',
      'DynamoDB Local',
      'client',
    ],
    steps.map(({ concurrency, requestsPerSecond, p50, p99, errors, processors }) => [
      concurrency,
      requestsPerSecond,
      p50,
      p99,
      `${round(errors * 100, 2)} %`,
      percent(processors.gatewayAndFunctions),
      percent(processors.dynamoDb),
      percent(processors.client),
    ]),
  );
  const budgeted = `${round(errorBudget * 100, 2)} %`;
  return `${rows}\n\nSustained, with errors of ${budgeted} at most: ${sustained.toLocaleString('en-US')} requests a second.`;
}

function budgetTable({ coldStart, warm, growth }: Results): string {
  const rows: (readonly [string, string, number, boolean])[] = [];
  for (const { name, timesEmpty, startKB } of coldStart?.results.filter(
    ({ group }) => group === 'function',
  ) ?? []) {
    rows.push([
      `cold start of ${name}, × empty`,
      `≤ ${budget.timesEmpty}`,
      timesEmpty,
      timesEmpty <= budget.timesEmpty,
    ]);
    rows.push([`start path of ${name}, KB`, `≤ ${budget.startKB}`, startKB, startKB <= budget.startKB]);
  }
  for (const { operation, ratio, cpuOutsideCalls, singleP50 } of warm?.results ?? []) {
    if (singleP50 !== undefined) {
      rows.push([
        `${operation}: p50 by that of the bare call`,
        `≤ ${budget.listingRatio}`,
        ratio,
        ratio <= budget.listingRatio,
      ]);
    }
    rows.push([
      `${operation}: CPU outside of calls, ms`,
      `≤ ${budget.cpuOutsideCalls}`,
      cpuOutsideCalls,
      cpuOutsideCalls <= budget.cpuOutsideCalls,
    ]);
  }
  for (const filter of ['one status', 'all'] as const) {
    const units = growth?.results.filter((each) => each.filter === filter).map((each) => each.units) ?? [];
    if (units.length > 0) {
      const spread = Math.max(...units) - Math.min(...units);
      rows.push([
        `page of ${filter}: units more on the dearest page than on the cheapest`,
        '0',
        spread,
        spread === 0,
      ]);
    }
  }
  return table(
    ['', 'budget', 'measured', ''],
    rows.map(([name, limit, value, met]) => [name, limit, value, met ? 'met' : '**not met**']),
  );
}
