import { type GeneratedParts, markdownTable } from '../generated.ts';
import { itemBytes } from '../cost/capacity.ts';
import { ordinary } from '../cost/requests.ts';
import { type Design, type Heat, onset, partitionLimit, simulate, unitsOf, type Workload } from './heat.ts';

const available = { available: 0.8, pending: 0.1, sold: 0.1 } as const;

/** What is created without a status is available, and nearly all is. */
const created = { available: 0.9, pending: 0.05, sold: 0.05 } as const;

/** People who look for an animal. The remaining tenth fetches by id, which no index serves. */
export const browsing: Workload = {
  list: 0.5,
  listByStatus: 0.35,
  create: 0.05,
  firstPages: 0.8,
  asked: available,
  created,
};

/** A store that brings its animals in. */
export const importing: Workload = {
  list: 0.25,
  listByStatus: 0.2,
  create: 0.5,
  firstPages: 0.8,
  asked: available,
  created,
};

export interface Run {
  readonly name: string;
  readonly workload: Workload;
  readonly requestsPerSecond: number;
  readonly design: Design;
}

export interface Options {
  readonly seed: number;
  readonly seconds: number;
}

export const defaults: Options = { seed: 1, seconds: 1_800 };

const rates = [100, 1_000, 10_000];
const plain: Design = { shards: 1, copies: 1 };
const run =
  (name: string, workload: Workload) =>
  (requestsPerSecond: number, design: Partial<Design> = {}): Run => ({
    name,
    workload,
    requestsPerSecond,
    design: { ...plain, ...design },
  });
const browse = run('browsing', browsing);
const bringIn = run('importing', importing);

/** The scenarios of docs/scale.md: as it is built, and what each remedy does where that is not enough. */
export const documented: readonly Run[] = [
  ...rates.map((rate) => browse(rate)),
  browse(10_000, { shards: 4 }),
  browse(10_000, { copies: 2 }),
  ...rates.map((rate) => bringIn(rate)),
  bringIn(10_000, { shards: 2 }),
  bringIn(10_000, { shards: 4 }),
  bringIn(10_000, { shards: 8 }),
];

export function heatTable(runs: readonly Run[], { seed, seconds }: Options): string {
  const animalBytes = itemBytes(ordinary.animal);
  return markdownTable(
    [
      'Clients are',
      'Requests a second',
      'Shards',
      'Copies',
      `Head reads, of ${number(partitionLimit.reads)}`,
      `Head writes, of ${number(partitionLimit.writes)}`,
      'Listings throttled',
      'Creations throttled',
      '`GET /pets`, RRU',
      '`POST /pets`, WRU',
    ],
    runs.map(({ name, workload, requestsPerSecond, design }) => {
      const heat = simulate({ workload, requestsPerSecond, design, seconds, seed, animalBytes });
      const units = unitsOf(design, animalBytes);
      return [
        name,
        number(requestsPerSecond),
        String(design.shards),
        String(design.copies),
        number(Math.round(heat.headReads)),
        number(Math.round(heat.headWrites)),
        beforeAndAfter(heat.listingsThrottled),
        beforeAndAfter(heat.creationsThrottled),
        String(units.listing),
        String(units.creation),
      ];
    }),
  );
}

const documentedWorkloads = [
  ['browsing', browsing],
  ['importing', importing],
] as const;

function workloadTable(): string {
  return markdownTable(
    ['Of their requests', ...documentedWorkloads.map(([name]) => name)],
    (
      [
        ['list without a status', ({ list }) => list],
        ['list by status', ({ listByStatus }) => listByStatus],
        ['… of these, by `available`', ({ asked }) => asked.available],
        ['… of all listings, ask for a first page', ({ firstPages }) => firstPages],
        ['create', ({ create }) => create],
        ['… of these, `available`', ({ created: statuses }) => statuses.available],
        ['fetch', ({ list, listByStatus, create }) => Math.max(0, 1 - list - listByStatus - create)],
      ] satisfies [string, (workload: Workload) => number][]
    ).map(([name, shareOf]) => [
      name,
      ...documentedWorkloads.map(([, workload]) => `${Math.round(shareOf(workload) * 100)} %`),
    ]),
  );
}

function onsetTable(): string {
  const animalBytes = itemBytes(ordinary.animal);
  return markdownTable(
    ['Requests a second from which …', 'listings are throttled', '… after splits', 'creations are throttled'],
    documentedWorkloads.map(([name, workload]) => {
      const { listings, listingsAfterSplits, creations } = onset(workload, animalBytes);
      return [
        name,
        ...[listings, listingsAfterSplits, creations].map((rate) => number(Math.round(rate / 100) * 100)),
      ];
    }),
  );
}

/** The parts of docs/scale.md that are computed. */
export function scaleParts(): GeneratedParts {
  return { workloads: workloadTable(), onset: onsetTable(), heat: heatTable(documented, defaults) };
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}

function beforeAndAfter({ atFirst, inTheEnd }: Heat['listingsThrottled']): string {
  const [before, after] = [percent(atFirst), percent(inTheEnd)];
  return before === after ? after : `${before} → ${after}`;
}

function percent(share: number): string {
  const value = share * 100;
  if (value > 0 && value < 0.05) return '< 0.1 %';
  return `${value.toFixed(value > 0 && value < 9.95 ? 1 : 0)} %`;
}
